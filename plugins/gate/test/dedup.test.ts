import { expect } from 'chai';
import { DedupMemory } from '../stages/dedup.js';
import { observation, says, testGate } from './fixture.js';

const group = { metadata: { chat_type: 'group' } };

describe('dedup', () => {
  it('drops the same text in the same session within the window, with tag and flag', () => {
    const { handle } = testGate();
    expect(handle(says('hello'), 0).decision.action).to.equal('deliver');
    const { decision, observation: flagged } = handle(says('  HELLO '), 1_000);
    expect(decision).to.deep.include({ action: 'drop', reason: 'dedup_hit', tags: { dedup: 'hit' } });
    expect(flagged?.quality_flags).to.deep.equal(['DUPLICATE']);
    expect(handle(says('hello', { session_key: 'console:u1:s2' }), 1_000).decision.action).to.equal('deliver');
    const other = { actor_type: 'user', actor_id: 'u2' } as const;
    expect(handle(says('hello', { actor: other }), 1_000).decision.action).to.equal('deliver');
  });

  it('delivers a duplicate once per window; duplicates do not extend it', () => {
    const { handle } = testGate();
    const actions = [0, 29_000, 30_000, 58_000, 60_000].map((now) => handle(says('x', group), now).decision.action);
    expect(actions).to.deep.equal(['deliver', 'drop', 'deliver', 'drop', 'deliver']);
  });

  it('distinguishes observations by attachment, data and reply_to', () => {
    const { handle } = testGate();
    const withFile = (sha256: string) =>
      says('look', { payload: { attachments: [{ id: '1', kind: 'image', sha256 }] } });
    const data = (value: object) => observation({ obs_type: 'world_data', payload: { schema_id: 's', data: value } });
    const outcomes = [
      withFile('a'),
      withFile('b'),
      says('look', { payload: { reply_to: 'm1' } }),
      data({ a: 1, b: 2 }),
      data({ a: 1, b: 3 }),
    ].map((one) => handle(one).decision.reason);
    expect(outcomes).to.not.include('dedup_hit');
    expect(handle(data({ b: 2, a: 1 })).decision.reason).to.equal('dedup_hit');
  });

  for (const ingress of ['api', 'ws', 'cron', 'internal'] as const) {
    it(`never drops a duplicate of the ingress ${ingress}`, () => {
      const { handle } = testGate();
      for (const now of [0, 1]) expect(handle(says('hi', { ingress }), now).decision.action).to.equal('deliver');
    });
  }

  it('never drops an event of a channel that is identified, and drops duplicates of one that is not', () => {
    const { handle } = testGate();
    const event = (id: string) => says('ok', { ingress: 'channel', evidence: { raw_event_id: id } });
    for (const id of ['m-1', 'm-2']) expect(handle(event(id)).decision.action).to.equal('deliver');
    for (const action of ['deliver', 'drop']) {
      expect(handle(says('ok', { ingress: 'channel' })).decision.action).to.equal(action);
    }
  });

  it('does not remember an observation that was dropped for another reason', () => {
    const { handle } = testGate();
    expect(handle(says('hi'), 0, true).decision.reason).to.equal('system_overload');
    expect(handle(says('hi'), 1).decision.action).to.equal('deliver');
    expect(handle(says('hi'), 2).decision.reason).to.equal('dedup_hit');
  });

  it('does not remember an observation that emergency mode sank', () => {
    const { handle, snapshots } = testGate();
    const admin = { layer: 'admin', expires_at: null, reason: null, obs_id: null } as const;
    snapshots.update({ emergency_mode: true }, admin);
    expect(handle(says('hi'), 0).decision.action).to.equal('sink');
    snapshots.update({ emergency_mode: false }, admin);
    expect(handle(says('hi'), 1).decision.action).to.equal('deliver');
  });

  it('evicts the least recently used entry first, and expired entries', () => {
    const memory = new DedupMemory();
    for (const [index, key] of ['a', 'b', 'c'].entries()) memory.remember(key, index, 3, -1);
    memory.touch('a');
    memory.remember('d', 3, 3, -1);
    expect(['a', 'b', 'c', 'd'].map((key) => memory.firstSeen(key))).to.deep.equal([0, undefined, 2, 3]);
    memory.remember('e', 100, 50, 50);
    memory.remember('f', 101, 50, 50);
    expect(memory.size).to.equal(2);
  });

  it('agrees with a simple list model for any sequence of operations', () => {
    const memory = new DedupMemory();
    let model: { key: string; at: number }[] = [];
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor(seed / 65_536) % below;
    };
    for (let now = 0; now < 5_000; now += 1) {
      const key = `k${random(300)}`;
      const known = model.find((one) => one.key === key);
      expect(memory.firstSeen(key)).to.equal(known?.at);
      if (known) memory.touch(key);
      else memory.remember(key, now, 100, -1);
      model = [...model.filter((one) => one !== known), known ?? { key, at: now }].slice(-100);
    }
    expect(memory.size).to.equal(100);
  });
});
