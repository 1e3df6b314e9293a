import { expect } from 'chai';
import type { MortiseError, Principal, Refusal } from '../../sdk/index.js';
import { createToolLimits } from '../rate-limits.js';

describe('the limits of tools', () => {
  let now = 0;
  let refusals: Refusal[] = [];
  const correlationId = 'corr-0000000000000000';
  const principal = (id: string): Principal => ({ id, admin: false, loopback: true, authenticated: true });
  const create = () => {
    now = 0;
    refusals = [];
    const admit = createToolLimits(
      { echo: { requests: 2, seconds: 1 } },
      () => now,
      (refusal) => refusals.push(refusal),
    );
    return (who: string, tool = 'echo'): MortiseError | undefined => {
      try {
        admit(tool, { principal: principal(who), correlationId });
        return undefined;
      } catch (error) {
        return error as MortiseError;
      }
    };
  };

  it('give each principal a bucket that refills', () => {
    const admit = create();
    expect([admit('a'), admit('a')]).to.deep.equal([undefined, undefined]);
    expect(admit('a')?.details).to.deep.equal({ retry_after_ms: 500 });
    expect(admit('b')).to.equal(undefined);
    now = 500;
    expect(admit('a')).to.equal(undefined);
    expect(admit('a')).not.to.equal(undefined);
  });

  it('refuse with the details that the caller and the audit need', () => {
    const admit = create();
    for (const _ of [1, 2]) admit('a');
    const refused = admit('a');
    expect(refused).to.include({ code: 'RATE_LIMITED', status: 429, retryable: true, retryAfterSeconds: 1 });
    expect(refusals).to.deep.equal([{ reason: 'rate_limited', subject: 'a', target: 'echo', correlationId }]);
  });

  it('do not apply to tools without a limit', () => {
    const admit = create();
    for (let call = 0; call < 100; call += 1) expect(admit('a', 'another')).to.equal(undefined);
    expect(refusals).to.deep.equal([]);
  });
});
