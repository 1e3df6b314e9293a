import type { LedgerMemory, PendingAudit } from 'mortise/contracts/logbook';
import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { StoredMemory } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { type BegunWrite, SettledElsewhere, settleFailed, settleStored } from '../write/settle-write.js';

/** What one pass came to. */
export interface Recovery {
  /** Found in the backend. */
  readonly stored: number;
  /** Not found, or nobody could look: kept in the outbox. */
  readonly queued: number;
  /** Could not be settled this time. */
  readonly unresolved: number;
}

/** How old a pending row is before anyone wonders about its writer. */
const SETTLE_AFTER_SECONDS = 15;
const PAGE = 100;

/** The write that an audit row is about; undefined when it is none, or settled in the ledger already. */
function writeOf(row: PendingAudit, memory: LedgerMemory | undefined): BegunWrite | undefined {
  if (memory === undefined || memory.state !== 'writing') return undefined;
  const event = row.evidence.gateway_event;
  const requested = typeof event === 'object' && event !== null && 'requested_space' in event && event.requested_space;
  return {
    auditId: row.auditId,
    intended: { action: row.action, reason: row.reason },
    memory,
    requestedSpace: typeof requested === 'string' ? requested : null,
  };
}

type Found = StoredMemory | null | 'unknown';

/** Looks for the memory in the backend that was called for it. */
async function lookUp({ memory }: BegunWrite, parts: GatewayParts): Promise<Found> {
  if (memory.backend !== parts.backend.backend) return 'unknown';
  const { memoryKey, space, payloadSha, payload } = memory;
  try {
    const found = await parts.backend.find({ memoryKey, space, payloadSha, content: payload ?? '' });
    return found === undefined ? 'unknown' : found;
  } catch {
    return 'unknown';
  }
}

function lost(applied: 'no' | 'unknown'): FailedDelivery {
  return {
    kind: 'failed',
    class: 'unavailable',
    detail: 'recovered_after_crash',
    message: 'the process that was storing the memory ended',
    applied,
    retryAfterMs: null,
    mergedInto: null,
  };
}

async function recoverWrite(write: BegunWrite, parts: GatewayParts): Promise<'stored' | 'queued'> {
  const found = await lookUp(write, parts);
  return parts.settlements.run(async (trx) => {
    if (found !== null && found !== 'unknown') {
      await settleStored(write, found.id, { recovered: true }, parts, trx);
      return 'stored';
    }
    await settleFailed(write, lost(found === null ? 'no' : 'unknown'), parts, trx);
    return 'queued';
  });
}

/** Whether the process that wrote the row will not settle it any more. */
async function isAbandoned(row: PendingAudit, { instances, inFlight }: GatewayParts): Promise<boolean> {
  if (row.instanceId === instances.id) return !inFlight.has(row.auditId);
  return !(await instances.isAlive(row.instanceId));
}

/**
 * Settles writes whose process ended between its call of the backend and writing down what came of it. Each is settled
 * by a guarded update, so processes that do this at the same time never settle the same one.
 */
export async function recoverWrites(parts: GatewayParts, signal?: AbortSignal): Promise<Recovery> {
  const seen = { stored: 0, queued: 0, unresolved: 0 };
  let after: string | undefined;
  for (;;) {
    const rows = await parts.audit.pending({ olderThanSeconds: SETTLE_AFTER_SECONDS, limit: PAGE, after });
    const keys = rows.flatMap(({ memoryKey }) => (memoryKey === null ? [] : [memoryKey]));
    const memories = new Map((await parts.logbook.ledger.byKeys(keys)).map((memory) => [memory.memoryKey, memory]));
    for (const row of rows) {
      if (signal?.aborted === true) return seen;
      const write = row.operation === 'memory_store' ? writeOf(row, memories.get(row.memoryKey ?? '')) : undefined;
      if (write === undefined || !(await isAbandoned(row, parts))) continue;
      try {
        seen[await recoverWrite(write, parts)] += 1;
      } catch (error) {
        if (error instanceof SettledElsewhere) continue;
        seen.unresolved += 1;
        parts.log.warn({ err: error, auditId: row.auditId }, 'A write could not be settled yet.');
      }
    }
    after = rows.at(-1)?.auditId;
    if (rows.length < PAGE || after === undefined) return seen;
  }
}
