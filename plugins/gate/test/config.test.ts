import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { configFault, defaultConfig } from '../gate-config.js';
import { OverloadMonitor } from '../overload-monitor.js';
import { testGate } from './fixture.js';

const admin = { layer: 'admin', expires_at: null, reason: null, obs_id: null } as const;
const agent = { ...admin, layer: 'agent' } as const;

describe('the configuration of the gate', () => {
  it('is published as the same schema that is enforced', async () => {
    const read = async (file: string) => JSON.parse(await readFile(file, 'utf8'));
    const published = await read('schemas/gate.schema.json');
    const { $schema: _, ...properties } = published.properties;
    expect(properties).to.deep.equal((await read('plugins/gate/config.schema.json')).properties);
    expect(published.required).to.deep.equal(['version']);
  });

  it('has the documented defaults without a file', () => {
    const config = defaultConfig();
    expect(config.scenes.dialogue).to.deep.equal({
      deliver_threshold: 0.75,
      sink_threshold: 0.2,
      default_action: 'deliver',
      message_mode: 'deliver',
      model_tier: null,
      response_policy: 'respond_now',
      dedup_window_sec: 20,
      max_reasons: 5,
    });
    expect(config.low_model).to.equal(null);
    expect(configFault(config)).to.equal(undefined);
  });

  it('refuses a threshold above its upper threshold', () => {
    const config = defaultConfig();
    const dialogue = { ...config.scenes.dialogue, sink_threshold: 0.8 };
    expect(configFault({ ...config, scenes: { ...config.scenes, dialogue } })).to.contain('/scenes/dialogue');
    const overload = { ...config.overload, lag_off_ms: 900 };
    expect(configFault({ ...config, overload })).to.contain('/overload/lag_off_ms');
  });

  it('applies the admin layer over the agent layer, and that over the file', () => {
    const { snapshots } = testGate();
    const force = () => snapshots.snapshot.config.overrides.force_low_model;
    expect(snapshots.update({ force_low_model: true }, agent)).to.equal(true);
    expect([force(), snapshots.snapshot.revision]).to.deep.equal([true, 2]);
    expect(snapshots.update({ force_low_model: false }, admin)).to.equal(true);
    expect(snapshots.remove('agent', 'force_low_model')).to.equal(false);
    expect([force(), snapshots.snapshot.revision]).to.deep.equal([false, 3]);
    expect(snapshots.remove('admin', 'force_low_model')).to.equal(false);
    expect(snapshots.snapshot.revision).to.equal(3);
  });

  it('keeps a layer when the file changes, and applies the new file when the layer is removed', () => {
    const { snapshots } = testGate();
    snapshots.update({ force_low_model: true }, agent);
    const config = defaultConfig();
    const overrides = { ...config.overrides, force_low_model: true };
    snapshots.replaceBase({ ...config, overrides }, { sha256: 'x', loadedAt: '' });
    expect(snapshots.snapshot.layers).to.have.length(1);
    expect(snapshots.remove('agent', 'force_low_model')).to.equal(false);
    expect(snapshots.snapshot.config.overrides.force_low_model).to.equal(true);
  });

  it('refuses unknown overrides, naming the nearest known one, and values of the wrong type', () => {
    const { snapshots } = testGate();
    const set = (patch: object) => () => snapshots.update(patch, admin);
    expect(set({ emergancy_mode: true }))
      .to.throw('emergency_mode')
      .with.property('code', 'invalid_override');
    expect(set({ emergency_mode: null })).to.throw('true or false');
    expect(set({ drop_actors: [1] })).to.throw('list');
    expect(set({})).to.throw('no override');
    expect(set({ force_low_model: true, constructor: true })).to.throw();
    expect(snapshots.snapshot).to.deep.include({ revision: 1, layers: [] });
  });

  it('is deeply frozen', () => {
    const { snapshots } = testGate();
    snapshots.update({ drop_actors: ['a'] }, admin);
    const check = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value)).to.equal(true);
      for (const member of Object.values(value)) check(member);
    };
    check(snapshots.snapshot.layers);
    check(snapshots.snapshot.config.overrides);
  });
});

describe('an overload', () => {
  const limits = { bus_on: 0.9, bus_off: 0.7, lag_on_ms: 500, lag_off_ms: 200, cooldown_sec: 60 };

  it('begins with two bad samples in a row and ends with four good ones', () => {
    const monitor = new OverloadMonitor();
    const bad = { busRatio: 0.95, lagMs: 0 };
    const good = { busRatio: 0.1, lagMs: 0 };
    const sample = (one: typeof bad, now: number) => [monitor.sample(one, limits, now), monitor.overload];
    expect(sample(bad, 0)).to.deep.equal([false, false]);
    expect(sample(good, 250)).to.deep.equal([false, false]);
    expect(sample(bad, 500)).to.deep.equal([false, false]);
    expect(sample({ busRatio: 0, lagMs: 500 }, 750)).to.deep.equal([true, true]);
    for (const now of [1_000, 1_250, 1_500]) expect(sample(good, now)).to.deep.equal([false, true]);
    expect(sample({ busRatio: 0.8, lagMs: 0 }, 1_750)).to.deep.equal([false, true]);
    for (const now of [2_000, 2_250, 2_500]) sample(good, now);
    expect(sample(good, 2_750)).to.deep.equal([false, false]);
    sample(bad, 3_000);
    expect(sample(bad, 3_250)).to.deep.equal([false, true]);
  });
});
