import { expect } from 'chai';
import fc from 'fast-check';
import type { OutboxRow } from 'mortise/contracts/logbook';
import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { Config } from '../config.generated.js';
import { backoffSeconds, judgeFailure } from '../worker/failure.js';

const HALF = 0.5;

describe('the wait before the next attempt', () => {
  const wait = (retries: number, random = HALF) => backoffSeconds(retries, { base: 60, max: 3_600 }, random);

  it('doubles from the base to the longest', () => {
    expect([0, 1, 2, 3, 5, 6, 10, 2_000].map((retries) => wait(retries))).to.deep.equal([
      60, 120, 240, 480, 1_920, 3_600, 3_600, 3_600,
    ]);
  });

  it('is a whole number of seconds, at least one, and at most 30 % off', () => {
    const some = fc.tuple(fc.nat(100), fc.nat(500), fc.nat(5_000), fc.double({ min: 0, max: 0.999_999, noNaN: true }));
    fc.assert(
      fc.property(some, ([retries, base, max, random]) => {
        const seconds = backoffSeconds(retries, { base, max }, random);
        const middle = Math.min(base * 2 ** retries, max);
        expect(Number.isInteger(seconds)).to.equal(true);
        expect(seconds).to.be.at.least(Math.max(1, Math.trunc(middle * 0.7)));
        expect(seconds).to.be.at.most(Math.max(1, Math.trunc(middle * 1.3)));
      }),
    );
  });
});

describe('a row that could not be delivered', () => {
  const config = { max_retries: 5, base_backoff: 60, max_backoff: 3_600, max_age_hours: 168 } as Config;
  const now = Date.parse('2026-01-08T00:00:00.000Z');
  const row = (change: Partial<OutboxRow> = {}) =>
    ({
      retryCount: 0,
      unavailableCount: 0,
      createdAt: '2026-01-07T00:00:00.000Z',
      verifyFirst: false,
      ...change,
    }) as OutboxRow;
  const failed = (change: Partial<FailedDelivery> = {}): FailedDelivery => ({
    kind: 'failed',
    class: 'failure',
    detail: 'api_error_500',
    message: 'it failed',
    applied: 'no',
    retryAfterMs: null,
    mergedInto: null,
    ...change,
  });
  const judge = (given: OutboxRow, failure: FailedDelivery) =>
    judgeFailure(given, failure, config, { now, random: HALF });

  it('dies of its fifth failure', () => {
    expect(judge(row({ retryCount: 3 }), failed())).to.deep.include({ kind: 'retry', delaySeconds: 480 });
    expect(judge(row({ retryCount: 4 }), failed())).to.deep.equal({
      kind: 'dead',
      error: 'it failed',
      errorClass: 'failure',
    });
  });

  it('does not die of a backend that is not there', () => {
    const unavailable = failed({ class: 'unavailable' });
    expect(judge(row({ retryCount: 400, unavailableCount: 396 }), unavailable)).to.deep.include({ kind: 'retry' });
    expect(judge(row({ retryCount: 400, unavailableCount: 396 }), failed())).to.deep.include({ kind: 'dead' });
  });

  it('becomes a dead letter after one refusal, and keeps the row it was merged into', () => {
    expect(judge(row(), failed({ class: 'permanent' }))).to.deep.include({ kind: 'dead', error: 'it failed' });
    expect(judge(row(), failed({ class: 'permanent', mergedInto: 'om-7' }))).to.deep.include({
      error: 'merged_into:om-7',
    });
  });

  it('dies of age when it fails once more', () => {
    const old = row({ createdAt: '2025-12-31T23:59:59.000Z' });
    expect(judge(old, failed({ class: 'unavailable' }))).to.deep.include({ kind: 'dead', error: 'max_age_exceeded' });
    expect(judge(row({ createdAt: '2026-01-01T00:00:00.000Z' }), failed())).to.deep.include({ kind: 'retry' });
  });

  it('waits as long as the backend asked for', () => {
    expect(judge(row(), failed({ retryAfterMs: 90_500 }))).to.deep.include({ delaySeconds: 91 });
    expect(judge(row(), failed({ retryAfterMs: 1_000 }))).to.deep.include({ delaySeconds: 60 });
  });

  it('is looked up first once its outcome was in doubt', () => {
    expect(judge(row(), failed({ applied: 'unknown' }))).to.deep.include({ verifyFirst: true });
    expect(judge(row({ verifyFirst: true }), failed())).to.deep.include({ verifyFirst: true });
    expect(judge(row(), failed())).to.deep.include({ verifyFirst: false });
  });
});
