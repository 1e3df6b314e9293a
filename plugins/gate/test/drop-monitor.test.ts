import { expect } from 'chai';
import { observation, says, testGate } from './fixture.js';

describe('drop escalation', () => {
  it('raises one alert for drops of any reason, and another only after the cooldown', () => {
    const { handle, alerts } = testGate({ overrides: { drop_actors: ['bad'] } });
    const bad = { actor_type: 'user', actor_id: 'bad' } as const;
    for (let index = 0; index < 25; index += 1) {
      handle(index % 2 === 0 ? says('') : says('hi', { actor: bad }), index * 400);
    }
    expect(alerts).to.have.length(1);
    expect(alerts[0]).to.include({ source: 'gate:drop_burst', code: 'pain', severity: 'medium' });
    expect(alerts[0]?.data).to.deep.include({
      consecutive: 8,
      by_reason: { empty_content: 4, 'override=drop_actor': 4 },
    });
    handle(says(''), 299_000);
    expect(alerts).to.have.length(1);
    handle(says(''), 303_000);
    expect(alerts).to.have.length(2);
  });

  it('tags the decision that raised the alert', () => {
    const { handle } = testGate({ drop_escalation: { consecutive_threshold: 2 } });
    handle(says(''), 0);
    expect(handle(says(''), 1).decision.tags).to.deep.equal({ drop_burst: 'true' });
  });

  it('counts drops in a sliding window, and consecutive drops until a delivery', () => {
    const { handle, alerts } = testGate({
      drop_escalation: { burst_threshold: 5, consecutive_threshold: 3, window_sec: 10 },
    });
    for (let now = 0; now < 100_000; now += 3_000) {
      handle(says(''), now);
      handle(says(`m${now}`), now + 1);
      handle(observation({ obs_type: 'control', payload: { kind: 'x', data: {} } }), now + 2);
    }
    expect(alerts).to.deep.equal([]);
  });

  it('raises one alert for 10,000 duplicates in ten seconds', () => {
    const { handle, alerts } = testGate();
    for (let index = 0; index < 10_000; index += 1) handle(says('spam'), index);
    expect(alerts).to.have.length(1);
  });

  it('raises one alert for a chain that was ended at the hop limit', () => {
    const { handle, alerts } = testGate();
    for (const now of [0, 1]) handle(says('hi', { hop: 9, source_name: 'agent:a' }), now);
    expect(alerts.map(({ source, code }) => [source, code])).to.deep.equal([['gate:loop_hops', 'loop_hops']]);
  });
});
