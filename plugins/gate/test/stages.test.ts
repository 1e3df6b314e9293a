import { expect } from 'chai';
import type { GateStage, GateWork } from 'mortise/sdk';
import { observation, says, testGate } from './fixture.js';

type Named = GateStage & { readonly key: string };

function stage(apply: GateStage['apply'], facts: Partial<Named> = {}): Named {
  return { key: 'probe', slot: 'policy', order: -1, apply, ...facts };
}

const throws = (): never => {
  throw new Error('broken');
};

describe('the stages that look at content', () => {
  it('examine the first 8,192 characters of a text, however long it is', () => {
    const { handle } = testGate();
    const { toLowerCase } = String.prototype;
    let longest = 0;
    String.prototype.toLowerCase = function counted(this: string) {
      longest = Math.max(longest, this.length);
      return toLowerCase.call(this);
    };
    try {
      handle(says(`${'A'.repeat(200_000)}?`, { ingress: 'ws' }));
    } finally {
      String.prototype.toLowerCase = toLowerCase;
    }
    expect(longest).to.equal(8_192);
  });
});

describe('contributed stages', () => {
  it('drop the observation when they fail and are closed', () => {
    const { handle } = testGate({}, [stage(throws)]);
    expect(handle(says('hi')).decision).to.include({ action: 'drop', reason: 'stage_failed:probe' });
    const alert = observation({ obs_type: 'alert', payload: { alert_type: 'x', data: {} } });
    expect(handle(alert).decision).to.include({ action: 'deliver', reason: 'system_plane' });
  });

  it('are recorded and skipped when they fail and are open', () => {
    const { handle } = testGate({}, [stage(throws, { onFailure: 'open' })]);
    const { decision } = handle(says('hi'));
    expect(decision.action).to.equal('deliver');
    expect(decision.reasons).to.include('stage_error:probe');
  });

  it('fail when they return a promise', () => {
    const later = (async () => undefined) as unknown as GateStage['apply'];
    const { handle } = testGate({}, [stage(later)]);
    const { decision } = handle(says('hi'));
    expect(decision).to.include({ action: 'drop', reason: 'stage_failed:probe' });
    expect(decision.reasons).to.include('stage_async:probe');
  });

  for (const [slot, order] of [
    ['scene', -1],
    ['finalize', 1],
  ] as const) {
    it(`are closed also in the slot ${slot}`, () => {
      const { handle } = testGate({}, [stage(throws, { slot, order })]);
      expect(handle(says('hi'), 0).decision.reason).to.equal('stage_failed:probe');
      // A message that was refused because of a fault is no first one of its repeats.
      expect(handle(says('hi'), 1).decision.reason).to.equal('stage_failed:probe');
    });
  }

  it('make proposals, of which the strictest wins', () => {
    const propose =
      (action: 'drop' | 'sink' | 'deliver'): GateStage['apply'] =>
      (work) =>
        work.propose(action, 'night');
    const reasonOf = (action: 'drop' | 'sink' | 'deliver', order: number) =>
      testGate({}, [stage(propose(action), { order })]).handle(says('hi')).decision;
    for (const order of [-1, 1]) {
      expect(reasonOf('drop', order)).to.include({ action: 'drop', reason: 'stage:probe:night' });
      expect(reasonOf('sink', order)).to.include({ action: 'sink', reason: 'stage:probe:night' });
      expect(reasonOf('deliver', order)).to.include({ action: 'deliver', reason: 'message_default' });
    }
  });

  it('can make an outcome stricter but not milder, and cannot stop the system plane', () => {
    const deliver = stage((work) => work.propose('deliver', 'please'), { order: 5 });
    expect(testGate({ overrides: { emergency_mode: true } }, [deliver]).handle(says('hi')).decision.action).to.equal(
      'sink',
    );
    const drop = stage((work) => work.propose('drop', 'no'), { slot: 'hard-bypass' });
    const control = observation({ obs_type: 'control', payload: { kind: 'x', data: {} } });
    expect(testGate({}, [drop]).handle(control).decision.action).to.equal('deliver');
  });

  it('can add features, score, tags and a scene', () => {
    const { handle } = testGate({}, [
      stage((work) => work.setScene('group'), { key: 'a', slot: 'scene', order: 1 }),
      stage(
        (work) => {
          work.addScore(0.5, 'vip');
          work.tag('vip', 'yes');
        },
        { key: 'b', slot: 'scoring', order: 1 },
      ),
    ]);
    expect(handle(says('hello')).decision).to.deep.include({ scene: 'group', score: 0.575, tags: { vip: 'yes' } });
  });

  it('replace the built-in stage of the same key, except finalize', () => {
    const calm = stage(() => undefined, { key: 'scoring', slot: 'scoring', order: 0 });
    const last = stage(throws, { key: 'finalize', slot: 'finalize', order: 0 });
    const { handle, pipeline } = testGate({}, [calm, last]);
    expect(handle(says('urgent?')).decision).to.include({ action: 'deliver', score: 0 });
    expect(pipeline.status(0)).to.have.length(7);
  });

  it('cannot change a draft after they have returned', () => {
    let retained: GateWork | undefined;
    const { handle } = testGate({}, [
      stage((work) => {
        retained = work;
      }),
    ]);
    handle(says('hi'));
    expect(() => retained?.propose('drop', 'late')).to.throw('the stage has ended');
  });

  it('have memories of their own, which a dry run does not change', () => {
    const counts: number[] = [];
    const { gate, handle } = testGate({}, [
      stage((_, ctx) => {
        const memory = ctx.memory('seen');
        memory.set('n', Number(memory.get('n') ?? 0) + 1);
        counts.push(Number(memory.get('n')));
      }),
    ]);
    handle(says('a'));
    gate.explain(says('b'), { sessionKey: '', now: 0, session: {} as never, overload: false });
    handle(says('c'));
    expect(counts).to.deep.equal([1, 2, 2]);
  });

  it('are bypassed for a while when they fail repeatedly and are open', () => {
    let calls = 0;
    let broken = true;
    const { handle, pipeline } = testGate({}, [
      stage(
        () => {
          calls += 1;
          if (broken) throw new Error('broken');
        },
        { onFailure: 'open' },
      ),
    ]);
    const state = (now: number) => pipeline.status(now).find(({ key }) => key === 'probe')?.state;
    for (let now = 0; now < 10; now += 1) handle(says(`m${now}`), now);
    expect(calls).to.equal(5);
    expect(state(10)).to.equal('open');
    handle(says('trial'), 30_004);
    expect(calls).to.equal(6);
    broken = false;
    handle(says('bypassed'), 30_005);
    handle(says('again'), 60_010);
    handle(says('well'), 60_011);
    expect(calls).to.equal(8);
    expect(state(60_012)).to.equal('ok');
  });

  it('raise an alert when they are closed and fail repeatedly', () => {
    const { handle, stageAlerts } = testGate({}, [stage(throws)]);
    for (let now = 0; now < 5; now += 1) handle(says('hi'), now);
    expect(stageAlerts).to.deep.equal([{ what: 'stage_failed', stage: 'probe' }]);
  });

  it('are reported when they are slow', () => {
    const wait = (): void => {
      const until = performance.now() + 0.1;
      while (performance.now() < until);
    };
    const { handle, pipeline, stageAlerts } = testGate({}, [stage(wait, { budgetUs: 10 })]);
    for (let now = 0; now < 120; now += 1) handle(says(`m${now}`), now);
    expect(pipeline.status(0).find(({ key }) => key === 'probe')).to.include({ state: 'slow', calls: 120 });
    expect(stageAlerts[0]).to.deep.equal({ what: 'stage_slow', stage: 'probe' });
  });
});
