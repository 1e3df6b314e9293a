import { argumentError, isBlankText, isUnstorableJson, isUnstorableText, type Principal } from 'mortise/sdk';
import { refuseLostNumbers } from '../errors.js';
import { type Evidence, type EvidenceItem, normaliseEvidence } from './evidence.js';
import { codePoints, sha256 } from './hashes.js';

/** One request to store a memory, validated and normalised. Null: the argument is absent. */
export interface StoreRequest {
  readonly payload: string;
  /** Code points of the payload. */
  readonly payloadLength: number;
  readonly payloadSha: string;
  readonly requestedSpace: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly kind: string | null;
  readonly evidence: Evidence;
  readonly isBulk: boolean;
  readonly itemId: number | null;
  /** The actor that the caller names. */
  readonly claimedActor: string | null;
  /** The claimed actor, else the one the principal is bound to. */
  readonly actorUserId: string | null;
  readonly principal: Principal;
  readonly correlationId: string;
}

const TOOL = 'memory_store';
const MAX_PAYLOAD_BYTES = 1_048_576;
const MAX_META_BYTES = 65_536;

const CONTROL = /\p{Cc}/u;

type Json = Readonly<Record<string, unknown>>;

function checkPayload(payload: string): void {
  if (isBlankText(payload)) throw argumentError(TOOL, '/payload_md', 'must not be blank');
  if (isUnstorableText(payload)) throw argumentError(TOOL, '/payload_md', 'must not contain NUL or lone surrogates');
  // A UTF-16 unit has at most three bytes of UTF-8, so only long texts need counting.
  if (payload.length * 3 > MAX_PAYLOAD_BYTES && Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) {
    throw argumentError(TOOL, '/payload_md', `must have at most ${MAX_PAYLOAD_BYTES} bytes of UTF-8`);
  }
}

/** Validates the argument `actor_user_id` of a tool. @throws MortiseError `INVALID_PARAM_VALUE`. */
export function checkActorName(tool: string, actor: string): void {
  if (actor.trim() !== actor || CONTROL.test(actor) || isUnstorableText(actor)) {
    throw argumentError(tool, '/actor_user_id', 'must not have control characters or surrounding blanks');
  }
  if (isBlankText(actor)) throw argumentError(tool, '/actor_user_id', 'must not be blank');
}

function checkJson(name: string, value: unknown, maxBytes: number): void {
  const json = JSON.stringify(value);
  if (json.length > maxBytes || (json.length * 3 > maxBytes && Buffer.byteLength(json) > maxBytes)) {
    throw argumentError(TOOL, `/${name}`, `must have at most ${maxBytes} bytes of JSON`);
  }
  if (isUnstorableJson(json)) throw argumentError(TOOL, `/${name}`, 'must not contain NUL or lone surrogates');
  // Numbers that JSON cannot represent are serialised as null.
  if (json.includes('null')) refuseLostNumbers(TOOL, name, value);
}

/** The caller of a store. */
interface StoreCaller {
  readonly principal: Principal;
  readonly correlationId: string;
  /** The session of the calling agent turn. */
  readonly session?: { readonly sessionId: string };
}

/** The metadata of a memory. A memory that an agent stores in a chat gets the id of that conversation, unless it has one. */
function metaOf(given: Json, session: StoreCaller['session']): Json {
  if (session === undefined || 'conversation_id' in given || 'session_id' in given) return given;
  return { ...given, conversation_id: session.sessionId };
}

/**
 * Reads arguments that passed the tool's schema, and checks what a schema cannot express.
 * @throws MortiseError `INVALID_PARAM_VALUE` (422).
 */
export function readStoreRequest(
  args: Json,
  { principal, correlationId, session }: StoreCaller,
  defaultSpace: string,
): StoreRequest {
  const meta = metaOf((args.meta_json ?? {}) as Json, session);
  const evidence = (args.evidence ?? []) as readonly Json[];
  const references = (args.evidence_refs ?? []) as readonly string[];
  const payload = args.payload_md as string;
  const claimedActor = (args.actor_user_id as string | null | undefined) ?? null;
  if (args.meta_json !== undefined) checkJson('meta_json', meta, MAX_META_BYTES);
  if (evidence.length > 0) checkJson('evidence', evidence, Number.POSITIVE_INFINITY);
  if (references.length > 0) checkJson('evidence_refs', references, Number.POSITIVE_INFINITY);
  checkPayload(payload);
  if (claimedActor !== null) checkActorName(TOOL, claimedActor);
  return {
    payload,
    payloadLength: codePoints(payload),
    payloadSha: sha256(payload),
    requestedSpace: (args.target_space as string | null | undefined) ?? defaultSpace,
    meta,
    kind: (args.kind as string | null | undefined) ?? null,
    evidence: normaliseEvidence(evidence, references),
    isBulk: args.is_bulk === true,
    itemId: (args.item_id as number | null | undefined) ?? null,
    claimedActor,
    actorUserId: claimedActor ?? principal.actor ?? null,
    principal,
    correlationId,
  };
}

/** The same request with redacted texts. `evidence`: one object for each item of the request. */
export function withTexts(
  request: StoreRequest,
  { payload, meta, evidence }: Pick<StoreRequest, 'payload' | 'meta'> & { evidence: readonly EvidenceItem['stored'][] },
): StoreRequest {
  const isLegacy = (index: number) => request.evidence.items[index]?.isLegacy === true;
  const objects = evidence.filter((_, index) => !isLegacy(index));
  const references = evidence.filter((_, index) => isLegacy(index)).map(({ uri }) => String(uri));
  return {
    ...request,
    payload,
    meta,
    evidence: normaliseEvidence(objects, references),
    payloadLength: codePoints(payload),
    payloadSha: sha256(payload),
  };
}
