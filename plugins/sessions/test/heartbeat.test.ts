import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import { startHeartbeat } from '../heartbeat.js';

describe('heartbeat', () => {
  it('gives up at once when the lease is lost', async () => {
    let lost = 0;
    let renewals = 0;
    startHeartbeat({
      ttlMs: 900,
      renew: async () => {
        renewals += 1;
        return renewals < 2;
      },
      onLost: () => {
        lost += 1;
      },
    });
    await until('the loss', () => lost > 0);
    await sleep(400);
    expect([renewals, lost]).to.deep.equal([2, 1]);
  });

  it('retries on a failing database, and gives up before another owner may claim the session', async () => {
    let renewals = 0;
    const why = await new Promise<string>((resolve) => {
      startHeartbeat({
        ttlMs: 3_000,
        renew: () => {
          renewals += 1;
          return Promise.reject(new Error('no database'));
        },
        onLost: () => resolve('given up'),
      });
      // Timers that are due end in their order, on a busy machine too.
      setTimeout(() => resolve('claimable'), 3_000);
    });
    expect([renewals > 2, why]).to.deep.equal([true, 'given up']);
  });

  it('gives up before another owner may claim the session while a renewal never ends', async () => {
    const why = await new Promise<string>((resolve) => {
      startHeartbeat({ ttlMs: 3_000, renew: () => new Promise(() => undefined), onLost: resolve });
      setTimeout(() => resolve('claimable'), 3_000);
    });
    expect(why).to.equal('unanswered');
  });

  it('stops after the renewal in progress, and renews no more', async () => {
    let renewals = 0;
    let renewed = false;
    const heartbeat = startHeartbeat({
      ttlMs: 900,
      renew: async () => {
        renewals += 1;
        await sleep(40);
        renewed = true;
        return true;
      },
      onLost: () => undefined,
    });
    await until('the first renewal', () => renewals === 1);
    await heartbeat.finish();
    expect(renewed).to.equal(true);
    await sleep(400);
    expect(renewals).to.equal(1);
  });
});
