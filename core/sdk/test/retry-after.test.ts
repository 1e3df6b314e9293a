import { expect } from 'chai';
import { retryAfterMs } from '../upstream-response.js';

describe('the time of a Retry-After header', () => {
  const now = Date.parse('2026-02-24T08:00:00Z');
  const wait = (value: string) => retryAfterMs(new Headers({ 'retry-after': value }), now);

  it('is read from seconds', () => {
    expect([wait('0'), wait(' 3 '), wait('1.5')]).to.deep.equal([0, 3_000, 1_500]);
  });

  it('is read from a date, which may be in the past', () => {
    expect([wait('Tue, 24 Feb 2026 08:00:04 GMT'), wait('Tue, 24 Feb 2026 07:00:00 GMT')]).to.deep.equal([4_000, 0]);
  });

  it('is at most a day', () => {
    expect([wait('1000000000000'), wait('Tue, 24 Feb 2037 08:00:00 GMT')]).to.deep.equal([86_400_000, 86_400_000]);
  });

  it('is undefined without the header, and for any other text', () => {
    expect([retryAfterMs(new Headers(), now), wait(''), wait('soon'), wait('1e3x')]).to.deep.equal(
      Array(4).fill(undefined),
    );
  });
});
