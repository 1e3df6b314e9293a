import type { ClientRecord, Violation } from '../checker/evidence.js';
import { landingOf, type MemoryInput } from '../plan/memory-input.js';
import type { Endpoint } from '../plan/requests.js';

/** What a response promised. */
type Promised =
  /** Stored in the backend under this id; `isRepeat`: it already was. */
  | { readonly kind: 'stored'; readonly memoryId: string; readonly isRepeat: boolean }
  /** Queued in the outbox under this id. */
  | { readonly kind: 'queued'; readonly outboxId: string; readonly isRepeat: boolean }
  /** A dead letter with this id. */
  | { readonly kind: 'dead'; readonly outboxId: string }
  /** Refused by the response. */
  | { readonly kind: 'refused'; readonly why: string }
  /** No response. */
  | { readonly kind: 'unanswered' };

/** A request and what its response promised. */
export interface Acknowledgement {
  readonly memory: MemoryInput;
  readonly endpoint: Endpoint;
  readonly promised: Promised;
  /** The final space, as named in the response. */
  readonly finalSpace: string | null;
  readonly correlationId: string | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Reads the promise from a `memory_store` result. */
export function promiseOf(result: Json): Promised {
  const { ok, dedup, memory_id, outbox_id, outbox_status } = result;
  const isRepeat = dedup === true;
  if (ok === true && typeof memory_id === 'string') return { kind: 'stored', memoryId: memory_id, isRepeat };
  if (typeof outbox_id === 'number') {
    const outboxId = String(outbox_id);
    return outbox_status === 'dead' ? { kind: 'dead', outboxId } : { kind: 'queued', outboxId, isRepeat };
  }
  const why = [result.error_code, result.reason, result.message].find((one) => typeof one === 'string');
  return { kind: 'refused', why: String(why ?? `ok=${String(ok)} without an id`) };
}

/** Converts an acknowledgement to the checker's form. */
export function clientRecordOf({ memory, promised, finalSpace, correlationId }: Acknowledgement): ClientRecord {
  const { text, space, kind, meta, actor, itemId } = memory;
  const landing = landingOf(memory);
  const isPromise = promised.kind === 'stored' || promised.kind === 'queued' || promised.kind === 'dead';
  return {
    text,
    requestedSpace: space,
    landing,
    space: finalSpace ?? landing,
    kind,
    meta,
    evidence: [
      ...memory.evidence.map((proof) => ({ ...proof })),
      ...memory.evidenceRefs.map((uri) => ({ uri, sha256: '' })),
    ],
    actor,
    itemId: itemId === null ? null : String(itemId),
    correlationId,
    promised: isPromise ? promised.kind : 'nothing',
    memoryId: promised.kind === 'stored' ? promised.memoryId : null,
    outboxId: promised.kind === 'queued' || promised.kind === 'dead' ? promised.outboxId : null,
  };
}

/**
 * Expected refusals: the same memory is being written by a process that is dead but not yet detected as dead, and a
 * slowly starting server responds before its plugins are active.
 */
const expected: readonly string[] = ['WRITE_IN_PROGRESS', 'PLUGIN_UNAVAILABLE', 'TOOL_EXECUTOR_NOT_REGISTERED'];

/** Requests that were refused without a reason. */
export function unexpectedRefusals(acknowledgements: readonly Acknowledgement[]): readonly Violation[] {
  return acknowledgements.flatMap(({ promised, memory }) =>
    promised.kind !== 'refused' || expected.includes(promised.why)
      ? []
      : [{ rule: 'answers', what: `"${memory.text.slice(0, 40)}" was refused: ${promised.why}` }],
  );
}
