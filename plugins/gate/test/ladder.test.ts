import { expect } from 'chai';
import fc from 'fast-check';
import type { GateConfig } from 'mortise/contracts/gate';
import type { GateStage, Observation } from 'mortise/sdk';
import { rounds } from 'mortise/sdk/testing';
import { Gate } from '../gate.js';
import { defaultConfig } from '../gate-config.js';
import type { GatePipeline } from '../pipeline.js';
import { Snapshots } from '../snapshots.js';
import { DedupMemory } from '../stages/dedup.js';
import { observation, says, sessionState, testGate } from './fixture.js';

const admin = { layer: 'admin', expires_at: null, reason: null, obs_id: null } as const;

/** Why a message may be stopped or let through, in the order in which that is decided. */
const rungs = [
  { reason: 'stage_failed:breaks', action: 'drop' },
  { reason: 'empty_content', action: 'drop' },
  { reason: 'system_overload', action: 'drop' },
  { reason: 'loop_hops', action: 'drop' },
  { reason: 'override=drop_session', action: 'drop' },
  { reason: 'override=drop_actor', action: 'drop' },
  { reason: 'dedup_hit', action: 'drop' },
  { reason: 'stage:judge:no', action: 'drop' },
  { reason: 'override=emergency', action: 'sink' },
  { reason: 'stage:judge:later', action: 'sink' },
  { reason: 'override=deliver_session', action: 'deliver' },
  { reason: 'override=deliver_actor', action: 'deliver' },
] as const;

type Reason = (typeof rungs)[number]['reason'];

const judge: GateStage & { readonly key: string } = {
  key: 'judge',
  slot: 'policy',
  order: -1,
  apply(work) {
    const { asks } = work.observation.metadata as { readonly asks?: readonly Reason[] };
    if (asks?.includes('stage:judge:no')) work.propose('drop', 'no');
    if (asks?.includes('stage:judge:later')) work.propose('sink', 'later');
  },
};

const breaks: GateStage & { readonly key: string } = {
  key: 'breaks',
  slot: 'scene',
  order: 1,
  apply(work) {
    const { asks } = work.observation.metadata as { readonly asks?: readonly Reason[] };
    if (asks?.includes('stage_failed:breaks')) throw new Error('broken');
  },
};

describe('the policy ladder', () => {
  it('applies the first matching row, whatever else matches', () => {
    fc.assert(
      fc.property(fc.subarray(rungs.map(({ reason }) => reason)), (asks) => {
        const { handle, snapshots } = testGate({}, [judge, breaks]);
        if (asks.includes('dedup_hit')) handle(says('hello'), 0);
        const lists = {
          drop_sessions: asks.includes('override=drop_session') ? ['console:u1:s1'] : [],
          drop_actors: asks.includes('override=drop_actor') ? ['u1'] : [],
          deliver_sessions: asks.includes('override=deliver_session') ? ['console:u1:s1'] : [],
          deliver_actors: asks.includes('override=deliver_actor') ? ['u1'] : [],
          emergency_mode: asks.includes('override=emergency'),
        };
        snapshots.update(lists, admin);
        const given = says('hello', {
          metadata: { asks },
          hop: asks.includes('loop_hops') ? 9 : 0,
          quality_flags: asks.includes('empty_content') ? ['EMPTY_CONTENT'] : [],
        });
        const { decision } = handle(given, 1_000, asks.includes('system_overload'));
        const first = rungs.find(({ reason }) => asks.includes(reason));
        expect(decision).to.include(first ?? { reason: 'message_default', action: 'deliver' });
      }),
      { numRuns: rounds(400, 8_000) },
    );
  });

  it('lists at most max_reasons reasons, the deciding one first', () => {
    const asks = { metadata: { asks: ['stage:judge:no', 'stage:judge:later'] } };
    const reasons = (max_reasons: number) => {
      const { handle, snapshots } = testGate({ scenes: { dialogue: { max_reasons } } }, [judge, breaks]);
      snapshots.update({ drop_actors: ['u1'] }, admin);
      return handle(says('hi', asks), 0, true).decision.reasons;
    };
    expect(reasons(5)).to.deep.equal(['system_overload', 'stage:judge:no', 'stage:judge:later']);
    expect(reasons(2)).to.deep.equal(['system_overload', 'stage:judge:no']);
    expect(reasons(1)).to.deep.equal(['system_overload']);
  });

  it('does not deduplicate agents, released observations, or scenes without a window', () => {
    const cases: readonly [string, Partial<Observation>, number][] = [
      ['agent', { source_name: 'agent:speaker' }, 20],
      ['agent by its actor', { actor: { actor_type: 'system', actor_id: 'agent' } }, 20],
      ['released', { metadata: { released_from: 'x' } }, 20],
      ['no window', {}, 0],
    ];
    for (const [name, fields, dedup_window_sec] of cases) {
      const { handle } = testGate({ scenes: { dialogue: { dedup_window_sec } } });
      for (const at of [0, 1]) expect(handle(says('hi', fields), at).decision.action, name).to.equal('deliver');
    }
  });

  it('publishes no emits beyond the hop limit, whatever it decides, and raises one alert', () => {
    const echo = {
      key: 'echo',
      slot: 'feature',
      order: 5,
      apply: (work) => work.emit({ source_name: 'echo', payload: { text: 'again' } }),
    } satisfies GateStage & { readonly key: string };
    const alert = { obs_type: 'alert', payload: { alert_type: 'x' }, session_key: 'system' } as const;
    const { handle, alerts } = testGate({}, [echo]);
    const emitted = (fields: Partial<Observation>) =>
      handle(says('hi', fields)).emit.map(({ source_name }) => source_name);
    expect(emitted({ hop: 8 })).to.deep.equal(['echo']);
    for (const fields of [{}, alert]) {
      for (const hop of [9, 10]) expect(emitted({ hop, ...fields })).to.deep.equal([]);
    }
    expect(alerts.map(({ source }) => source)).to.deep.equal(['gate:loop_hops', 'gate:loop_hops']);
  });

  it('drops messages when the gate itself fails, and delivers the system plane', () => {
    const faults: unknown[] = [];
    const config: GateConfig = defaultConfig();
    const snapshots = new Snapshots(config, { sha256: null, loadedAt: '' });
    const pipeline = {
      run: () => {
        throw new Error('broken');
      },
    } as unknown as GatePipeline;
    const gate = new Gate({
      pipeline,
      dedup: new DedupMemory(),
      config: () => snapshots.compiled,
      overload: () => false,
      fault: (error) => faults.push(error),
      alert: () => undefined,
      clock: () => performance.now(),
    });
    const context = { sessionKey: 's', now: 0, session: sessionState, overload: false };
    expect(gate.handle(says('hi'), context).decision).to.include({ action: 'drop', reason: 'gate_error' });
    const control = observation({ obs_type: 'control', payload: { kind: 'x', data: {} } });
    expect(gate.handle(control, context).decision).to.include({ action: 'deliver' });
    expect(faults).to.have.length(2);
    expect(gate.totals()).to.include({ processed: 2, dropped: 1, delivered: 1 });
  });
});
