import type { Outbox } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { ackSent } from './ack-sent.js';
import { claimOutbox } from './claim-outbox.js';
import { enqueueMemory } from './enqueue-memory.js';
import { failRetry } from './fail-retry.js';
import { checkDedup, findSent } from './find-sent.js';
import { releaseLeases, renewLeases } from './lease-rows.js';
import { markDead } from './mark-dead.js';
import { listRows, rowsByIds } from './read-rows.js';
import { hastenRows, retryDead } from './wake-rows.js';

const CHANNEL = 'outbox';

/** The outbox in `logbook.outbox_memory`. */
export function createOutbox(database: Database): Outbox {
  const announce = (options: Parameters<Outbox['enqueueMemory']>[1]) => database.notify(CHANNEL, '', options);
  return {
    async enqueueMemory(row, options) {
      const outboxId = await enqueueMemory(database, row, options);
      if (row.status === 'pending') await announce(options);
      return outboxId;
    },
    checkDedup: (space, payloadSha, metaSha = '', options = {}) =>
      checkDedup(database, { space, payloadSha, metaSha }, options),
    findSent: (ids, options) => findSent(database, ids, options),
    claimOutbox: (wanted, options) =>
      options?.trx === undefined
        ? database.transaction((trx) => claimOutbox(database, wanted, trx))
        : claimOutbox(database, wanted, options.trx),
    renewLeases: (ids, workerId, options) => renewLeases(database, ids, workerId, options),
    renewLease: async (id, workerId, options) => (await renewLeases(database, [id], workerId, options)).has(id),
    releaseLeases: (held, workerId, options) => releaseLeases(database, held, workerId, options),
    ackSent: async (outboxId, workerId, memoryId, options) =>
      (await ackSent(database, [{ outboxId, memoryId }], workerId, options)).has(outboxId),
    ackSentMany: (sent, workerId, options) => ackSent(database, sent, workerId, options),
    failRetry: (id, workerId, failure, options) => failRetry(database, id, workerId, failure, options),
    markDeadByWorker: (id, workerId, failure, options) => markDead(database, id, workerId, failure, options),
    async retryDead(outboxId, options) {
      const isPending = await retryDead(database, outboxId, options);
      if (isPending) await announce(options);
      return isPending;
    },
    async hasten(options) {
      const rows = await hastenRows(database, options);
      if (rows > 0) await announce(options);
      return rows;
    },
    get: async (outboxId, options) => (await rowsByIds(database, [outboxId], options))[0] ?? null,
    byIds: (ids, options) => rowsByIds(database, ids, options),
    list: (query, options) => listRows(database, query, options),
    async clock(options) {
      const { rows } = await database.statement<{ at: number }>(`select ${database.now.millis} as at`, [], options);
      return rows[0]?.at ?? Date.now();
    },
    onRows: (run) => database.listen(CHANNEL, run, { missed: run }),
  };
}
