import { expect } from 'chai';
import { MortiseError } from 'mortise/sdk';
import { endOf } from '../turn-signal.js';

describe('the end of a turn', () => {
  const cases = [
    ['server_shutdown', 'interrupted', 'server_shutdown'],
    ['plugin_stopping', 'interrupted', 'plugin_stopping'],
    ['turn_cancelled', 'cancelled', 'turn_cancelled'],
    ['session_fenced', 'fenced', 'session_fenced'],
    ['client_closed', 'cancelled', 'client_closed'],
  ] as const;
  for (const [code, status, shown] of cases) {
    it(`is ${status} with ${shown} after ${code}, wrapped or not`, () => {
      const reason = new MortiseError(code, 'Why it ended.');
      for (const given of [reason, new MortiseError('call_aborted', 'The call was aborted.', { cause: reason })]) {
        const end = endOf(given);
        expect([end.status, end.error.code]).to.deep.equal([status, shown]);
      }
    });
  }

  it('names the plugin that is being stopped while the server runs on', () => {
    const reason = new MortiseError('plugin_stopping', 'The plugin models is being stopped.', { status: 503 });
    expect(endOf(reason).error.message).to.equal('The plugin models is being stopped.');
  });
});
