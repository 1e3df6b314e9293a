import { expect } from 'chai';
import { MortiseError } from 'mortise/sdk';
import { memoryItem } from 'mortise/sdk/testing';
import { type DeliverDeps, deliver } from '../backend/deliver.js';

const item = memoryItem(1);

const unavailable = new MortiseError('backend_unavailable', 'It is being restarted.', {
  details: { class: 'unavailable', status: 503, applied: 'no' },
});

/** Blocks the event loop. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('a failed backend call', () => {
  let calls: number;
  const backend = (timeoutMs: number, afterFailure: () => void): DeliverDeps => ({
    timeoutMs,
    ledgerRows: async () => [],
    backend: {
      backend: 'fake',
      facts: () => undefined,
      storeMany: async () => [],
      get: async () => undefined,
      async store() {
        calls += 1;
        if (calls > 1) return { id: 'm-1' };
        setTimeout(afterFailure, 0);
        throw unavailable;
      },
    },
  });
  beforeEach(() => {
    calls = 0;
  });

  it('is retried while there is time', async () => {
    const delivery = await deliver(
      item,
      { retriesOnce: true },
      backend(10_000, () => {}),
    );
    expect(delivery).to.deep.include({ kind: 'stored', id: 'm-1' });
  });

  it('is not retried by a process that was suspended past the deadline', async () => {
    const delivery = await deliver(
      item,
      { retriesOnce: true },
      backend(400, () => block(400)),
    );
    expect(delivery).to.deep.include({ kind: 'failed', detail: 'api_error_503' });
    expect(calls).to.equal(1);
  });
});
