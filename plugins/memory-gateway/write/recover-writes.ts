import type { LedgerMemory, PendingAudit } from 'mortise/contracts/logbook';
import { isJsonObject, type StoredMemory } from 'mortise/sdk';
import type { Gateway } from '../gateway.js';
import { type BegunWrite, lostWrite, SettledElsewhere, settleFailed, settleStored } from './settle-write.js';

/** The result of one pass, as numbers of writes. */
interface Recovery {
  /** Found in the backend. */
  readonly stored: number;
  /** Not found, or not looked up: now in the outbox. */
  readonly queued: number;
  /** Not settled in this pass. */
  readonly unresolved: number;
}

/** Age of a pending row before its writer is checked. */
const SETTLE_AFTER_SECONDS = 15;
const PAGE = 100;

/** The write of an audit row; undefined when there is none, or when the ledger row is already settled. */
function writeOf(row: PendingAudit, memory: LedgerMemory | undefined): BegunWrite | undefined {
  if (memory === undefined || memory.state !== 'writing') return undefined;
  const event = row.evidence.gateway_event;
  const requested = isJsonObject(event) ? event.requested_space : undefined;
  return {
    auditId: row.auditId,
    intended: { action: row.action, reason: row.reason },
    memory,
    requestedSpace: typeof requested === 'string' ? requested : null,
    principal: row.principal,
  };
}

type Found = StoredMemory | null | 'unknown';

/** Looks the memory up in the backend that was called. */
async function lookUp({ memory }: BegunWrite, gateway: Gateway): Promise<Found> {
  if (memory.backend !== gateway.backend.backend) return 'unknown';
  const { memoryKey, space, payloadSha, payload } = memory;
  try {
    const found = await gateway.backend.find({ memoryKey, space, payloadSha, content: payload ?? '' });
    return found === undefined ? 'unknown' : found;
  } catch {
    return 'unknown';
  }
}

async function recoverWrite(write: BegunWrite, gateway: Gateway): Promise<'stored' | 'queued'> {
  const found = await lookUp(write, gateway);
  return gateway.settlements.run(async (trx) => {
    if (found !== null && found !== 'unknown') {
      await settleStored(write, found.id, { recovered: true }, gateway, trx);
      return 'stored';
    }
    await settleFailed(write, lostWrite(found === null ? 'no' : 'unknown'), gateway, trx);
    return 'queued';
  });
}

/** Whether the process that wrote the row will no longer settle it. */
async function isAbandoned(row: PendingAudit, { instances, inFlight }: Gateway): Promise<boolean> {
  if (row.instanceId === instances.id) return !inFlight.has(row.auditId);
  return !(await instances.isAlive(row.instanceId));
}

/**
 * Settles writes whose process ended before it committed the outcome of its backend call. Each is settled by a guarded
 * update, so two processes that recover at the same time never settle the same write.
 */
export async function recoverWrites(gateway: Gateway, signal?: AbortSignal): Promise<Recovery> {
  const counts = { stored: 0, queued: 0, unresolved: 0 };
  let after: string | undefined;
  for (;;) {
    const rows = await gateway.audit.pending({ olderThanSeconds: SETTLE_AFTER_SECONDS, limit: PAGE, after });
    const keys = rows.flatMap(({ memoryKey }) => (memoryKey === null ? [] : [memoryKey]));
    const memories = new Map((await gateway.logbook.ledger.byKeys(keys)).map((memory) => [memory.memoryKey, memory]));
    for (const row of rows) {
      if (signal?.aborted === true) return counts;
      const write = row.operation === 'memory_store' ? writeOf(row, memories.get(row.memoryKey ?? '')) : undefined;
      if (write === undefined || !(await isAbandoned(row, gateway))) continue;
      try {
        counts[await recoverWrite(write, gateway)] += 1;
      } catch (error) {
        if (error instanceof SettledElsewhere) continue;
        counts.unresolved += 1;
        gateway.log.warn({ err: error, auditId: row.auditId }, 'A write could not be settled yet.');
      }
    }
    after = rows.at(-1)?.auditId;
    if (rows.length < PAGE || after === undefined) return counts;
  }
}

/** One scheduled pass. A failure is logged, and the next pass tries again. */
export async function recoverInBackground(gateway: Gateway, signal: AbortSignal): Promise<void> {
  try {
    const { stored, queued } = await recoverWrites(gateway, signal);
    if (stored + queued > 0) gateway.log.info({ stored, queued }, 'Writes of an ended process were settled.');
  } catch (error) {
    gateway.log.warn({ err: error }, 'The recovery of unsettled writes failed.');
  }
}
