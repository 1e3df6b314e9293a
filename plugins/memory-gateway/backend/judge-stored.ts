import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { Delivery, FailedDelivery } from 'mortise/contracts/memory-gateway';
import { type BackendMemory, isUnstorableText, type MemoryItem, type StoredMemory } from 'mortise/sdk';
import { readFailure } from './read-failure.js';

/** What a judgement needs to see. */
export interface Witnesses {
  /** Ledger rows that the id stands for, but for the item's own. */
  readonly known: readonly LedgerMemory[];
  /** Reads the memory in the backend; undefined where it cannot be read. */
  read(id: string): Promise<BackendMemory | null | undefined>;
}

const NOTHING = { kind: 'failed', retryAfterMs: null, mergedInto: null } as const;

function merged(id: string): FailedDelivery {
  return {
    ...NOTHING,
    class: 'permanent',
    detail: 'merged',
    message: `the memory backend kept memory ${id} in its place`,
    applied: 'no',
    mergedInto: id,
  };
}

function invalid(message: string): FailedDelivery {
  return { ...NOTHING, class: 'failure', detail: 'invalid_response', message, applied: 'unknown' };
}

/**
 * Whether the backend really has the memory: an answer that says otherwise, or an id that stands for another text, is
 * checked by reading the memory back. What was merged into other content is not stored.
 */
export async function judgeStored(item: MemoryItem, stored: StoredMemory, witnesses: Witnesses): Promise<Delivery> {
  const { id, deduplicated } = stored;
  if (id === '' || isUnstorableText(id)) return invalid('the memory backend answered without an id');
  const isForeign = witnesses.known.some(({ payloadSha }) => payloadSha !== item.payloadSha);
  if (deduplicated !== true && !isForeign) return { kind: 'stored', id, dedup: false };
  let memory: BackendMemory | null | undefined;
  try {
    memory = await witnesses.read(id);
  } catch (error) {
    const trouble = readFailure(error);
    // What was stored is not known yet, so the answer of the read does not decide about it.
    return {
      ...NOTHING,
      ...trouble,
      class: trouble.class === 'permanent' ? 'failure' : trouble.class,
      applied: 'unknown',
    };
  }
  if (memory === null) return invalid('the memory backend does not know the id it answered with');
  const isSame = memory === undefined ? witnesses.known.length > 0 && !isForeign : memory.content === item.content;
  return isSame ? { kind: 'stored', id, dedup: true } : merged(id);
}
