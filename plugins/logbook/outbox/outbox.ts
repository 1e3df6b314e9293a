import type { Outbox } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { claimOutbox, releaseLeases, renewLeases } from './claim.js';
import { checkDedup, enqueueMemory, findSent } from './enqueue.js';
import { listRows, rowsByIds } from './read-rows.js';
import { ackSent, failRetry, makeDue, moveToDeadLetter, retryDead } from './settle.js';

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
    moveToDeadLetter: (id, workerId, failure, options) => moveToDeadLetter(database, id, workerId, failure, options),
    async retryDead(outboxId, options) {
      const isPending = await retryDead(database, outboxId, options);
      if (isPending) await announce(options);
      return isPending;
    },
    async makeDue(options) {
      const rows = await makeDue(database, options);
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
