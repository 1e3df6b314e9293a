import type { MemoryItem, StoredMemory, Transaction } from 'mortise/sdk';
import { createTestHost, memoryBackendContract, type TestHost } from 'mortise/sdk/testing';

/** This backend reads the texts where the platform keeps them: in the ledger. */
async function keep(host: TestHost, item: MemoryItem, stored: StoredMemory, trx: Transaction): Promise<void> {
  const row = {
    memoryKey: item.memoryKey,
    space: item.space,
    payloadSha: item.payloadSha,
    metaSha: item.memoryKey.padEnd(64, '0').slice(0, 64),
    payload: item.content,
    payloadLength: [...item.content].length,
    kind: item.kind,
    meta: item.meta,
    evidence: item.evidence,
    actorUserId: null,
    itemId: null,
    backend: 'local',
    backendMemoryId: stored.id,
    auditId: null,
    outboxId: null,
    correlationId: item.correlationId,
  } as const;
  await host.service('logbook').ledger.insert([row], { trx });
}

memoryBackendContract('the local backend', {
  host: (database) => createTestHost({ plugins: ['memory-backend-local'], database }),
  key: 'local',
  keep,
});
