import { expect } from 'chai';
import { observation, says, testGate } from './fixture.js';

describe('many drops', () => {
  it('raise one alert, whatever their reasons, and another one only after a while', () => {
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

  it('are tagged on the decision that told of them', () => {
    const { handle } = testGate({ drop_escalation: { consecutive_threshold: 2 } });
    handle(says(''), 0);
    expect(handle(says(''), 1).decision.tags).to.deep.equal({ drop_burst: 'true' });
  });

  it('are counted in a window that slides, and in a row that a delivery ends', () => {
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

  it('raise one alert for ten thousand repeats in ten seconds', () => {
    const { handle, alerts } = testGate();
    for (let index = 0; index < 10_000; index += 1) handle(says('spam'), index);
    expect(alerts).to.have.length(1);
  });

  it('tell once of a chain of agents that was ended', () => {
    const { handle, alerts } = testGate();
    for (const now of [0, 1]) handle(says('hi', { hop: 9, source_name: 'agent:a' }), now);
    expect(alerts.map(({ source, code }) => [source, code])).to.deep.equal([['gate:loop_hops', 'loop_hops']]);
  });
});
