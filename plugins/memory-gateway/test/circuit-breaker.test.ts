import { expect } from 'chai';
import { type CallOutcome, type CircuitBreaker, createCircuitBreaker } from '../backend/circuit-breaker.js';

describe('the circuit breaker', () => {
  let breaker: CircuitBreaker;
  const record = (...outcomes: readonly CallOutcome[]) => {
    for (const outcome of outcomes) breaker.record(outcome);
  };
  const times = (count: number, ...outcomes: readonly CallOutcome[]) =>
    Array.from({ length: count }, () => outcomes).flat();

  beforeEach(() => {
    breaker = createCircuitBreaker();
  });

  it('opens after five unavailable results in a row, not after four', () => {
    record(...times(4, 'unavailable'), 'other', ...times(4, 'unavailable'));
    expect(breaker.allows()).to.equal(true);
    record('unavailable');
    expect(breaker.allows()).to.equal(false);
    expect(breaker.state).to.equal('open');
  });

  it('opens when half of the last twenty were unavailable', () => {
    record(...times(9, 'ok', 'unavailable'), 'ok');
    expect(breaker.state).to.equal('closed');
    record('unavailable');
    expect(breaker.state).to.equal('open');
  });

  it('does not open for invalid answers', () => {
    record(...times(30, 'other'));
    expect(breaker.state).to.equal('closed');
  });

  it('closes with the first success, and notifies once', () => {
    let closed = 0;
    breaker.onClosed(() => {
      closed += 1;
    });
    record(...times(5, 'unavailable'));
    breaker.recordProbe(false);
    expect(breaker.state).to.equal('open');
    breaker.recordProbe(true);
    breaker.recordProbe(true);
    expect({ state: breaker.state, closed }).to.deep.equal({ state: 'closed', closed: 1 });
    record(...times(4, 'unavailable'));
    expect(breaker.state).to.equal('closed');
    record('unavailable', 'ok');
    expect({ state: breaker.state, closed }).to.deep.equal({ state: 'closed', closed: 2 });
  });

  it('allows one trial call to a backend that is healthy but rejects the key', () => {
    for (let n = 0; n < 5; n += 1) breaker.record('unavailable', { isMisconfigured: true });
    breaker.recordProbe(true);
    expect(breaker.state).to.equal('half_open');
    expect([breaker.allows(), breaker.allows()]).to.deep.equal([true, false]);
    breaker.record('unavailable', { isMisconfigured: true });
    expect(breaker.state).to.equal('open');
    breaker.recordProbe(true);
    expect(breaker.allows()).to.equal(true);
    breaker.record('ok');
    expect(breaker.state).to.equal('closed');
  });
});
