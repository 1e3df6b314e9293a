import { expect } from 'chai';
import { createTestHost, localPrincipal, type TestHost, type TestPlugin, until } from 'mortise/sdk/testing';
import { message } from './fixture.js';

const never = (): Promise<never> => new Promise(() => undefined);

/** A handler that ignores its abort signal, and an egress adapter that never confirms a send. */
const deaf: TestPlugin = {
  manifest: {
    key: 'deaf',
    contributes: {
      'observation-handler': [{ key: 'deaf', facts: { types: ['message'] } }],
      egress: [{ key: 'deaf', facts: { default: true, timeoutMs: 30_000 } }],
    },
  },
  definition: {
    key: 'deaf',
    register(host) {
      host.contribute('observation-handler', 'deaf', { types: ['message'], handle: never });
      host.contribute('egress', 'deaf', { default: true, timeoutMs: 30_000, send: never });
    },
  },
};

describe('a stop that reaches its limit', () => {
  it('is not a fault of the plugin, which reports what it did not finish', async () => {
    const host: TestHost = await createTestHost({ plugins: ['conversation'], extra: [deaf], listen: false });
    const conversation = host.service('conversation');
    const said = (text: string) => {
      const published = conversation.publish(
        { ...message(text, 's2'), source_name: 'agent:speaker' },
        { principal: localPrincipal },
      );
      return published.ok ? published.observation.obs_id : '';
    };
    const replies = [said('one'), said('two')];
    await until('the reply that is handed over', () =>
      conversation.egress().some(({ adapter, depth }) => adapter === 'deaf' && depth === 1),
    );
    const [begun, queued] = ['a', 'b'].map((text) => {
      const published = conversation.publish(message(text), { principal: localPrincipal });
      return published.ok ? published.observation.obs_id : '';
    });
    await until('the turn', () => conversation.busy('console:u1:s1') || conversation.stats().running > 0);
    const from = Date.now();
    const report = await host.app.stop(from + 2_000);
    expect(Date.now() - from).to.be.below(15_000);
    // The conversation ends within its share of the time; the hanging plugin is named, without a fault.
    expect(report.degraded).to.equal(true);
    expect(report.unfinished.map(({ plugin }) => plugin))
      .to.include('deaf')
      .and.not.include('conversation');
    const lines = host.logs.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    const warned = (msg: string) => lines.filter((line) => line.msg === msg);
    expect(warned('accepted observations were not handled before the stop')).to.have.length(1);
    expect(warned('accepted observations were not handled before the stop')[0]).to.deep.include({
      obs_ids: [queued],
      interrupted_obs_ids: [begun],
    });
    const unsent = warned('replies were not sent before the stop').filter(({ adapter }) => adapter === 'deaf');
    expect(unsent).to.have.length(1);
    expect(unsent[0]).to.deep.include({ obs_ids: [replies[1]], unconfirmed_obs_id: replies[0] });
    await host.stop();
  });
});
