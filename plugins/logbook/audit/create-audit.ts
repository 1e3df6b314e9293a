import type { AuditService } from 'mortise/contracts/logbook';
import type { AuditEntry } from 'mortise/sdk';
import { type Database, type HostEvents, redactSecrets, type Transaction, type TransactionOption } from 'mortise/sdk';
import { finalizeEntry } from './finalize-entry.js';
import { withEvent } from './gateway-event.js';
import { insertEntries } from './insert-entries.js';
import { pendingRows } from './pending-rows.js';
import { queryRows } from './query-rows.js';
import { verifyChain } from './verify-chain.js';
import { withoutSecrets } from './without-secrets.js';

export interface AuditParts {
  readonly database: Database;
  /** Of this process: names the chains it writes. */
  readonly instanceId: string;
  /** Called for each row that is final, once it is committed. */
  readonly committed: (event: HostEvents['audit']) => void;
}

/** The service `audit`. */
export function createAudit({ database, instanceId, committed }: AuditParts): AuditService {
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
    finalize: (auditId, told, options) =>
      inTransaction(options, async (trx) => {
        const outcome = { ...told, reason: redactSecrets(told.reason) };
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
    query: (query, options) => queryRows(database, query, options),
    pending: (wanted, options) => pendingRows(database, wanted, options),
    verify: () => verifyChain(database),
  };
}
