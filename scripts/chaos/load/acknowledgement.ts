import type { Door } from '../plan/requests.js';
import type { Wish } from '../plan/wish.js';

/** What an answer promised. */
export type Promised =
  /** It is in the backend under this id; `isRepeat`: it was there before. */
  | { readonly kind: 'stored'; readonly memoryId: string; readonly isRepeat: boolean }
  /** It waits in the outbox under this id. */
  | { readonly kind: 'queued'; readonly outboxId: string; readonly isRepeat: boolean }
  /** It is a dead letter of this id. */
  | { readonly kind: 'dead'; readonly outboxId: string }
  /** Nothing; the answer said so. */
  | { readonly kind: 'refused'; readonly why: string }
  /** There was no answer. */
  | { readonly kind: 'unanswered' };

/** A request, and what its answer promised. */
export interface Acknowledgement {
  readonly wish: Wish;
  readonly door: Door;
  readonly promised: Promised;
  /** The space that the answer names as the one it was decided for. */
  readonly finalSpace: string | null;
  readonly correlationId: string | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Reads the promise out of a `memory_store` result. */
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
