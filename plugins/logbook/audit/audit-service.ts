import type { AuditService } from 'mortise/contracts/logbook';
import {
  type AuditEntry,
  type Database,
  type HostEvents,
  redactSecrets,
  type Transaction,
  type TransactionOption,
} from 'mortise/sdk';
import { withEvent } from './gateway-event.js';
import { pendingRows, queryRows, readRow } from './query-rows.js';
import { verifyChain } from './verify-chain.js';
import { finalizeEntry, insertEntries, withoutSecrets } from './write-rows.js';

interface AuditDeps {
  readonly database: Database;
  /** Instance id of this process; names its chains. */
  readonly instanceId: string;
  /** Called for each final row after its commit. */
  readonly committed: (event: HostEvents['audit']) => void;
}

/** The service `audit`. */
export function createAudit({ database, instanceId, committed }: AuditDeps): AuditService {
  const inTransaction = <T>(options: TransactionOption | undefined, run: (trx: Transaction) => Promise<T>) =>
    options?.trx === undefined ? database.transaction(run) : run(options.trx);

  const writeMany = (entries: readonly AuditEntry[], options?: TransactionOption): Promise<readonly string[]> =>
    inTransaction(options, async (trx) => {
      const now = new Date().toISOString();
      const full = entries.map((entry) => withEvent(withoutSecrets(entry), now));
      const ids = await insertEntries(database, instanceId, full, now, trx);
      database.afterCommit(trx, () => {
        for (const [index, entry] of full.entries()) {
          if (entry.status !== 'pending') committed({ ...entry, auditId: ids[index] ?? '' });
        }
      });
      return ids;
    });

  return {
    writeMany,
    async write(entry, options) {
      const [id] = await writeMany([entry], options);
      return id ?? '';
    },
    finalize: (auditId, given, options) =>
      inTransaction(options, async (trx) => {
        const outcome = { ...given, reason: redactSecrets(given.reason) };
        const settled = await finalizeEntry(database, instanceId, auditId, outcome, trx);
        if (settled === null) return false;
        const { actorUserId, targetSpace, payloadSha, correlationId, memoryKey, principal } = settled;
        const event = {
          auditId,
          action: outcome.action,
          operation: settled.operation ?? '',
          reason: outcome.reason,
          status: outcome.status,
          actorUserId,
          targetSpace,
          payloadSha,
          correlationId,
          memoryKey,
          principal,
          evidence: database.codec.parseJson<Record<string, unknown>>(settled.evidence),
        };
        database.afterCommit(trx, () => committed(event));
        return true;
      }),
    get: (auditId, options) => readRow(database, auditId, options),
    query: (query, options) => queryRows(database, query, options),
    pending: (wanted, options) => pendingRows(database, wanted, options),
    verify: () => verifyChain(database),
  };
}
