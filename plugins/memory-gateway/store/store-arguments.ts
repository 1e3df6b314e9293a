import { isBlankText, isUnstorableJson, isUnstorableText } from 'mortise/sdk';
import { argumentError, refuseLostNumbers } from '../argument-error.js';

/** Arguments of `memory_store`, as its schema let them through. Absent and null are the same. */
export interface StoreArguments {
  readonly payload: string;
  readonly targetSpace: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly kind: string | null;
  readonly evidenceRefs: readonly string[];
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
  readonly isBulk: boolean;
  readonly itemId: number | null;
  readonly actorUserId: string | null;
}

const TOOL = 'memory_store';
const LARGEST_PAYLOAD_BYTES = 1_048_576;
const LARGEST_META_BYTES = 65_536;

const CONTROL = /\p{Cc}/u;

function checkPayload(payload: string): string {
  if (isBlankText(payload)) throw argumentError(TOOL, '/payload_md', 'must not be blank');
  if (isUnstorableText(payload)) throw argumentError(TOOL, '/payload_md', 'must not hold NUL or lone surrogates');
  // A character has at most three bytes for each UTF-16 unit: only long texts need counting.
  if (payload.length * 3 > LARGEST_PAYLOAD_BYTES && Buffer.byteLength(payload) > LARGEST_PAYLOAD_BYTES) {
    throw argumentError(TOOL, '/payload_md', `must have at most ${LARGEST_PAYLOAD_BYTES} bytes of UTF-8`);
  }
  return payload;
}

/** An actor's name, from an argument. @throws MortiseError `INVALID_PARAM_VALUE`. */
export function checkActor(tool: string, actor: string | null): string | null {
  if (actor === null) return null;
  if (actor.trim() !== actor || CONTROL.test(actor) || isUnstorableText(actor)) {
    throw argumentError(tool, '/actor_user_id', 'must not have control characters or blanks around it');
  }
  if (isBlankText(actor)) throw argumentError(tool, '/actor_user_id', 'must not be blank');
  return actor;
}

function checkJson(name: string, value: unknown, largest: number): void {
  const json = JSON.stringify(value);
  if (json.length > largest || (json.length * 3 > largest && Buffer.byteLength(json) > largest)) {
    throw argumentError(TOOL, `/${name}`, `must have at most ${largest} bytes of JSON`);
  }
  if (isUnstorableJson(json)) throw argumentError(TOOL, `/${name}`, 'must not hold NUL or lone surrogates');
  // What cannot be written is null in the JSON.
  if (json.includes('null')) refuseLostNumbers(TOOL, name, value);
}

/**
 * Reads arguments that passed the tool's schema, and checks what a schema cannot say.
 * @throws MortiseError `INVALID_PARAM_VALUE` (422).
 */
export function readStoreArguments(args: Readonly<Record<string, unknown>>): StoreArguments {
  const meta = (args.meta_json ?? {}) as Readonly<Record<string, unknown>>;
  const evidence = (args.evidence ?? []) as readonly Readonly<Record<string, unknown>>[];
  const evidenceRefs = (args.evidence_refs ?? []) as readonly string[];
  if (args.meta_json !== undefined) checkJson('meta_json', meta, LARGEST_META_BYTES);
  if (evidence.length > 0) checkJson('evidence', evidence, Number.POSITIVE_INFINITY);
  if (evidenceRefs.length > 0) checkJson('evidence_refs', evidenceRefs, Number.POSITIVE_INFINITY);
  return {
    payload: checkPayload(args.payload_md as string),
    targetSpace: (args.target_space as string | null | undefined) ?? null,
    meta,
    kind: (args.kind as string | null | undefined) ?? null,
    evidenceRefs,
    evidence,
    isBulk: args.is_bulk === true,
    itemId: (args.item_id as number | null | undefined) ?? null,
    actorUserId: checkActor(TOOL, (args.actor_user_id as string | null | undefined) ?? null),
  };
}
