import { expect } from 'chai';
import { type Failure, readFailure, waitBefore, withRetries } from 'mortise/contracts/models';

const busy: Failure = { retryable: true, error: (attempts) => new Error(`after ${attempts}`) };

describe('the one place that repeats requests', () => {
  it('doubles the wait each time, ±20 %', () => {
    const waits = (random: number) => [1, 2, 3].map((repeat) => waitBefore(repeat, undefined, random));
    expect(waits(0.5)).to.deep.equal([500, 1_000, 2_000]);
    expect(waits(0)).to.deep.equal([400, 800, 1_600]);
    expect(waits(1)).to.deep.equal([600, 1_200, 2_400]);
  });

  it('respects Retry-After, up to ten seconds', () => {
    expect([0, 3_000, 60_000].map((asked) => waitBefore(1, asked, 0.9))).to.deep.equal([0, 3_000, 10_000]);
    const now = Date.parse('2026-02-24T08:00:00Z');
    const asked = (value: string) =>
      readFailure({ status: 429, headers: new Headers({ 'retry-after': value }) }, now).retryAfterMs;
    expect(asked('1.5')).to.equal(1_500);
    expect(asked('later')).to.equal(undefined);
  });

  it('gives up with the last failure and the number of attempts', async () => {
    const waits: number[] = [];
    let tried = 0;
    const run = withRetries(
      async () => {
        tried += 1;
        throw new Error('busy');
      },
      {
        maxRetries: 2,
        wait: async (ms) => waits.push(ms),
        random: () => 0.5,
        read: () => busy,
        check: () => undefined,
      },
    );
    expect(await run.catch((error: Error) => error.message)).to.equal('after 3');
    expect([tried, waits]).to.deep.equal([3, [500, 1_000]]);
  });

  it('does not retry after an abort', async () => {
    const ended = new Error('ended');
    let tried = 0;
    const run = withRetries(
      async () => {
        tried += 1;
        throw new Error('busy');
      },
      {
        maxRetries: 2,
        wait: async () => undefined,
        random: () => 0.5,
        read: () => busy,
        check: () => {
          throw ended;
        },
      },
    );
    expect(await run.catch((error: Error) => error)).to.equal(ended);
    expect(tried).to.equal(1);
  });

  it('does not retry after a headers timeout or an invalid request', () => {
    const late = Object.assign(new Error('Connection error.'), { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } });
    expect(readFailure(late, 0).retryable).to.equal(false);
    expect(readFailure(new TypeError('not a header'), 0).retryable).to.equal(false);
    expect(readFailure(new Error('Connection error.'), 0).retryable).to.equal(true);
    expect(readFailure(new TypeError('terminated', { cause: { code: 'UND_ERR_SOCKET' } }), 0).retryable).to.equal(true);
  });
});
