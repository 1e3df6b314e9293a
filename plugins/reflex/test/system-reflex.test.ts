import { expect } from 'chai';
import type { GateConfig, GateControl, GateLayerEntry, GateOverrides, GateSnapshot } from 'mortise/contracts/gate';
import type { Observation, ObservationInput } from 'mortise/sdk';
import type { ControlEntry } from '../control-entry.js';
import { adminSource, SystemReflex } from '../system-reflex.js';
import { ManualClock } from './fixture.js';

const settings: GateConfig['system_reflex'] = {
  allow_agent_suggestions: true,
  whitelist: ['force_low_model'],
  default_ttl_sec: 60,
  max_ttl_sec: 3_600,
  cooldown_sec: 5,
};

/** The layers of a gate, over a file that the test writes. */
class Layers implements Pick<GateControl, 'snapshot' | 'updateOverrides' | 'removeOverride'> {
  base: GateOverrides = {
    emergency_mode: false,
    force_low_model: false,
    drop_sessions: [],
    drop_actors: [],
    deliver_sessions: [],
    deliver_actors: [],
  };
  readonly config: GateConfig['system_reflex'];
  readonly entries = new Map<string, GateLayerEntry>();

  constructor(config: Partial<GateConfig['system_reflex']> = {}) {
    this.config = { ...settings, ...config };
  }

  snapshot(): GateSnapshot {
    const overrides: Record<string, unknown> = { ...this.base };
    for (const layer of ['agent', 'admin']) {
      for (const entry of this.entries.values()) if (entry.layer === layer) overrides[entry.key] = entry.value;
    }
    const config = { overrides, system_reflex: this.config };
    return { revision: 1, layers: [...this.entries.values()], config } as unknown as GateSnapshot;
  }

  updateOverrides(
    patch: Parameters<GateControl['updateOverrides']>[0],
    entry: Parameters<GateControl['updateOverrides']>[1],
  ): boolean {
    return this.#changes(() => {
      for (const [key, value] of Object.entries(patch)) {
        this.entries.set(`${entry.layer} ${key}`, { ...entry, key, value } as GateLayerEntry);
      }
    });
  }

  removeOverride(layer: string, key: string): boolean {
    return this.#changes(() => void this.entries.delete(`${layer} ${key}`));
  }

  #changes(run: () => void): boolean {
    const before = JSON.stringify(this.snapshot().config.overrides);
    run();
    return JSON.stringify(this.snapshot().config.overrides) !== before;
  }
}

function testReflex(config: Partial<GateConfig['system_reflex']> = {}, room = true) {
  const clock = new ManualClock();
  const gate = new Layers(config);
  const published: ObservationInput[] = [];
  const rows: ControlEntry[] = [];
  const reflex = new SystemReflex({
    gate,
    store: { room: () => room, pending: () => false, add: ({ entries }) => rows.push(...entries) },
    publish: (_, observation) => published.push(observation),
    counted: () => undefined,
    monotonic: () => clock.now,
    now: () => 1_000_000 + clock.now,
    after: clock.after,
  });
  const control = (kind: string, data: object, source = 'agent:speaker') =>
    reflex.handle({
      obs_id: 'o'.repeat(32),
      source_name: source,
      payload: { kind, data },
      metadata: { origin_session_key: 'console:u1:s1' },
      trace_id: 't'.repeat(32),
    } as unknown as Observation);
  const answers = () => published.splice(0).map(({ payload }) => ({ kind: payload.kind, ...(payload.data as object) }));
  return {
    clock,
    gate,
    rows,
    reflex,
    answers,
    force: () => gate.snapshot().config.overrides.force_low_model,
    order: (data: object) => control('admin_override', data, adminSource),
    control,
    suggest: (overrides: object, more: object = {}) =>
      control('tuning_suggestion', { suggested_overrides: overrides, ...more }),
  };
}

describe('a suggestion of an agent', () => {
  it('applies until it expires, and then the value of the file applies again', () => {
    const { suggest, clock, force, answers, rows } = testReflex();
    suggest({ force_low_model: true }, { ttl_sec: 1 });
    expect(force()).to.equal(true);
    const [applied, mode] = answers();
    expect(applied).to.deep.include({
      kind: 'tuning_applied',
      accepted: true,
      reason: 'agent_suggestion',
      applied_overrides: { force_low_model: true },
      ttl_sec: 1,
    });
    expect(mode).to.deep.include({
      kind: 'system_mode_changed',
      mode: { emergency_mode: false, force_low_model: true },
    });
    clock.advance(999);
    expect(force()).to.equal(true);
    clock.advance(1);
    expect(force()).to.equal(false);
    expect(answers().map(({ kind }) => kind)).to.deep.equal(['tuning_applied', 'system_mode_changed']);
    expect(
      rows.map(({ action, oldValue, newValue, accepted }) => [action, oldValue, newValue, accepted]),
    ).to.deep.equal([
      ['suggest', false, true, true],
      ['expire', true, false, true],
    ]);
    expect(rows[0]).to.include({ originSessionKey: 'console:u1:s1', traceId: 't'.repeat(32) });
  });

  it('reveals the value that the file has by then', () => {
    const { suggest, gate, clock, force } = testReflex();
    gate.base = { ...gate.base, force_low_model: true };
    suggest({ force_low_model: false }, { ttl_sec: 1 });
    expect(force()).to.equal(false);
    clock.advance(1_000);
    expect(force()).to.equal(true);
  });

  it('is refused within the cooldown, whatever timestamp it claims', () => {
    const { suggest, clock, answers } = testReflex();
    const reasons = [0, 1_000, 3_900, 100].map((wait, index) => {
      clock.advance(wait);
      suggest({ force_low_model: index % 2 === 0 }, { ts: `${2000 + index * 50}-01-01T00:00:00Z` });
      return answers()[0];
    });
    expect(reasons.map((one) => (one as { reason?: string } | undefined)?.reason)).to.deep.equal([
      'agent_suggestion',
      'cooldown',
      'cooldown',
      'agent_suggestion',
    ]);
  });

  it('changes only keys on the whitelist, and lists the others as rejected', () => {
    const { suggest, answers, gate, rows } = testReflex();
    suggest({ emergency_mode: true, force_low_model: true, [`x${'y'.repeat(300)}`]: 1 });
    expect(gate.snapshot().config.overrides).to.include({ emergency_mode: false, force_low_model: true });
    expect(answers()[0]).to.deep.include({
      applied_overrides: { force_low_model: true },
      rejected_overrides: [
        { key: 'emergency_mode', reason: 'no_allowed_overrides' },
        { key: `x${'y'.repeat(127)}`, reason: 'no_allowed_overrides' },
      ],
    });
    expect(rows.map(({ accepted }) => accepted)).to.deep.equal([true, false, false]);
  });

  for (const [what, config, overrides, reason] of [
    ['suggestions are off', { allow_agent_suggestions: false }, { force_low_model: true }, 'agent_suggestion_disabled'],
    ['nothing of it is allowed', {}, { emergency_mode: true }, 'no_allowed_overrides'],
    ['it is empty', {}, {}, 'no_allowed_overrides'],
    ['the value is of another type', {}, { force_low_model: 'yes' }, 'invalid_value'],
  ] as const) {
    it(`is refused, and audited, when ${what}`, () => {
      const { suggest, answers, rows, force } = testReflex(config);
      suggest(overrides);
      expect(answers())
        .to.have.length(1)
        .and.to.have.nested.property('[0]')
        .that.deep.includes({ accepted: false, reason });
      expect(rows).to.have.length(1).and.to.have.nested.property('[0].accepted', false);
      expect(force()).to.equal(false);
    });
  }

  for (const [given, seconds] of [
    [0, 1],
    [-5, 1],
    [99_999, 3_600],
    ['x', 60],
    [null, 60],
    [Number.NaN, 60],
    [2.9, 2],
    ['7', 7],
  ] as const) {
    it(`lasts ${seconds} s with the ttl_sec ${JSON.stringify(given)}`, () => {
      const { suggest, answers } = testReflex();
      suggest({ force_low_model: true }, { ttl_sec: given });
      expect(answers()[0]).to.deep.include({ ttl_sec: seconds });
    });
  }

  it('extends an earlier one of the same value, and reports when it has no effect', () => {
    const { suggest, clock, answers, force, order } = testReflex();
    suggest({ force_low_model: true }, { ttl_sec: 10 });
    clock.advance(6_000);
    answers();
    suggest({ force_low_model: true }, { ttl_sec: 10 });
    expect(answers()[0]).to.deep.include({ accepted: true, reason: 'ttl_extended' });
    clock.advance(9_000);
    expect(force()).to.equal(true);
    clock.advance(1_000);
    expect(force()).to.equal(false);
    order({ overrides: { force_low_model: false }, reason: 'r' });
    answers();
    suggest({ force_low_model: true }, { ttl_sec: 10 });
    expect(answers()).to.have.length(1).and.to.have.nested.property('[0].reason', 'no_effect');
  });

  it('changes nothing that cannot be audited', () => {
    const { suggest, answers, force } = testReflex({}, false);
    suggest({ force_low_model: true });
    expect([force(), answers()[0]]).to.deep.include(false);
    expect(force()).to.equal(false);
  });
});

describe('an override of an admin', () => {
  it('takes precedence over suggestions, lists included, until it is cleared', () => {
    const { order, suggest, force, clock, gate, rows } = testReflex();
    suggest({ force_low_model: true }, { ttl_sec: 3_600 });
    order({ overrides: { force_low_model: false, drop_actors: ['u1'] }, reason: 'calm' });
    clock.advance(1_000_000);
    expect(force()).to.equal(false);
    expect(gate.snapshot().config.overrides.drop_actors).to.deep.equal(['u1']);
    order({ clear: 'force_low_model' });
    expect(force()).to.equal(true);
    expect(rows.map(({ action }) => action)).to.deep.equal(['suggest', 'admin_set', 'admin_set', 'admin_clear']);
  });

  it('expires after its TTL, and has no cooldown', () => {
    const { order, force, clock } = testReflex();
    order({ overrides: { force_low_model: true }, ttl_sec: 10, reason: 'r' });
    order({ overrides: { force_low_model: true }, ttl_sec: 2, reason: 'r' });
    clock.advance(1_999);
    expect(force()).to.equal(true);
    clock.advance(1);
    expect(force()).to.equal(false);
  });

  it('is accepted from the admin source only', () => {
    const { control, rows, gate, answers } = testReflex();
    control('admin_override', { overrides: { emergency_mode: true } }, 'agent:speaker');
    expect([gate.entries.size, rows.length, answers().length]).to.deep.equal([0, 0, 0]);
  });

  it('ignores its own answers', () => {
    const { control, rows, answers } = testReflex();
    control('tuning_applied', { suggested_overrides: { force_low_model: true } });
    control('system_mode_changed', {});
    expect([rows.length, answers().length]).to.deep.equal([0, 0]);
  });
});
