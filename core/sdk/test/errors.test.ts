import { expect } from 'chai';
import { MortiseError } from '../errors.js';

describe('a coded error', () => {
  it('redacts secrets in its message, hint and details', () => {
    const token = `glpat-${'a1B2c3D4e5'.repeat(2)}`;
    const at = new Date(0);
    const error = new MortiseError('unknown_tool', `There is no tool "${token}".`, {
      hint: `Did you mean ${token}?`,
      details: { given: [{ name: token }], session_key: 'console:alice:demo', count: 1, at, none: null },
    });
    expect(error.message).to.equal('There is no tool "[REDACTED]".');
    expect(error.hint).to.equal('Did you mean [REDACTED]?');
    expect(error.details).to.deep.equal({
      given: [{ name: '[REDACTED]' }],
      session_key: 'console:alice:demo',
      count: 1,
      at,
      none: null,
    });
  });
});
