import { expect } from 'chai';
import { observation, says, testGate } from './fixture.js';

describe('many drops', () => {
  it('raise one alert, whatever their reasons, and another one only after a while', () => {
    const { handle } = testGate({ overrides: { drop_actors: ['bad'] } });
    const bad = { actor_type: 'user', actor_id: 'bad' } as const;
    const alerts = Array.from({ length: 25 }, (_, index) =>
      handle(index % 2 === 0 ? says('') : says('hi', { actor: bad }), index * 400),
    ).flatMap(({ emit }) => emit);
    expect(alerts).to.have.length(1);
    expect(alerts[0]).to.deep.include({ obs_type: 'alert', source_name: 'gate:drop_burst' });
    expect(alerts[0]?.payload).to.deep.include({ alert_type: 'pain', severity: 'medium' });
    expect(alerts[0]?.payload.data).to.deep.include({
      consecutive: 8,
      by_reason: { empty_content: 4, 'override=drop_actor': 4 },
    });
    expect(handle(says(''), 299_000).emit).to.have.length(0);
    expect(handle(says(''), 303_000).emit).to.have.length(1);
  });

  it('are tagged on the decision that told of them', () => {
    const { handle } = testGate({ drop_escalation: { consecutive_threshold: 2 } });
    handle(says(''), 0);
    expect(handle(says(''), 1).decision.tags).to.deep.equal({ drop_burst: 'true' });
  });

  it('are counted in a window that slides, and in a row that a delivery ends', () => {
    const { handle } = testGate({ drop_escalation: { burst_threshold: 5, consecutive_threshold: 3, window_sec: 10 } });
    const emits: number[] = [];
    for (let now = 0; now < 100_000; now += 3_000) {
      emits.push(handle(says(''), now).emit.length, handle(says(`m${now}`), now + 1).emit.length);
      handle(observation({ obs_type: 'control', payload: { kind: 'x', data: {} } }), now + 2);
    }
    expect(emits.every((count) => count === 0)).to.equal(true);
  });

  it('raise one alert for ten thousand repeats in ten seconds', () => {
    const { handle } = testGate();
    let alerts = 0;
    for (let index = 0; index < 10_000; index += 1) alerts += handle(says('spam'), index).emit.length;
    expect(alerts).to.equal(1);
  });

  it('tell once of a chain of agents that was ended', () => {
    const { handle } = testGate();
    const emitted = [0, 1].flatMap((now) => handle(says('hi', { hop: 9, source_name: 'agent:a' }), now).emit);
    expect(emitted.map(({ payload }) => payload.alert_type)).to.deep.equal(['loop_hops']);
  });
});
