import { expect } from 'chai';
import type { AdapterCooldown, BusStats } from 'mortise/contracts/conversation';
import type { GateSnapshot, GateTotals } from 'mortise/contracts/gate';
import type { Observation, ObservationInput } from 'mortise/sdk';
import { Nociception } from '../nociception.js';
import { ManualClock } from './fixture.js';

function testNociception(fanOutOn = false) {
  const clock = new ManualClock();
  const cooldowns = new Map<string, AdapterCooldown>();
  const published: ObservationInput[] = [];
  const counts = { dropped: 0, refused: 0, inbox: 0, fanOuts: 0, overloads: 0 };
  const config = {
    nociception: { window_sec: 60, burst: 5, adapter_cooldown_sec: 300, drop_burst: 50, fanout_suppress_sec: 60 },
    drop_escalation: { cooldown_sec: 300 },
  };
  const nociception = new Nociception({
    conversation: {
      coolDown: (cooldown) => void cooldowns.set(cooldown.adapter, cooldown),
      endCooldown: (adapter) => cooldowns.delete(adapter),
      stats: () => ({ dropped: { queue_full: counts.refused }, inbox_dropped: counts.inbox }) as unknown as BusStats,
    },
    gate: {
      snapshot: () => ({ config }) as unknown as GateSnapshot,
      totals: () => ({ dropped: counts.dropped }) as GateTotals,
    },
    publish: (observation) => published.push(observation),
    raise: ({ source, code }) =>
      published.push({ obs_type: 'alert', source_name: source, payload: { alert_type: code } }),
    fanOut: () => {
      counts.fanOuts += 1;
    },
    fanOutOn,
    counted: () => undefined,
    overloaded: () => {
      counts.overloads += 1;
    },
    monotonic: () => clock.now,
    after: clock.after,
  });
  const pain = (source: string, times = 1, data: object = {}) => {
    for (let index = 0; index < times; index += 1) {
      nociception.alert({
        source_name: source,
        payload: { alert_type: 'pain', severity: 'low', data },
        metadata: {},
      } as unknown as Observation);
    }
  };
  const texts = () => published.splice(0).map(({ payload }) => payload.text ?? payload.alert_type);
  return { nociception, clock, cooldowns, counts, pain, texts, published };
}

describe('pain', () => {
  it('cools down an adapter after five alerts, for five minutes, which a sixth does not extend', () => {
    const { pain, clock, cooldowns, texts } = testNociception();
    pain('adapter:a', 4);
    expect(cooldowns.size).to.equal(0);
    pain('adapter:a');
    expect(cooldowns.get('a')).to.include({ until: 300_000 });
    clock.advance(200_000);
    pain('adapter:a', 6);
    expect(cooldowns.get('a')).to.include({ until: 300_000 });
    expect(texts()).to.deep.equal(['adapter_cooldown_started']);
    clock.advance(100_000);
    expect(cooldowns.size).to.equal(0);
    expect(texts()).to.deep.equal(['adapter_cooldown_ended']);
    pain('adapter:a', 4);
    expect(cooldowns.size).to.equal(0);
    pain('adapter:a');
    expect(cooldowns.size).to.equal(1);
  });

  it('spread over a longer time cools down nothing', () => {
    const { pain, clock, cooldowns } = testNociception();
    for (let index = 0; index < 20; index += 1) {
      pain('egress:b');
      clock.advance(20_000);
    }
    expect(cooldowns.size).to.equal(0);
  });

  it('of anything but an adapter cools down nothing', () => {
    const { pain, cooldowns } = testNociception();
    pain('plugin:x', 10);
    pain('adapter:x', 10, { source_kind: 'ingest', source_id: 'x' });
    expect(cooldowns.size).to.equal(0);
  });

  it('is counted by source: the kind ends at the first colon', () => {
    const { pain, nociception, cooldowns } = testNociception();
    pain('adapter:q:x', 5);
    pain('nameless', 2);
    expect(nociception.totals().by_source).to.deep.equal({ 'adapter:q:x': 5, 'unknown:unknown': 2 });
    expect([...cooldowns.keys()]).to.deep.equal(['q:x']);
    for (let index = 0; index < 3_000; index += 1) pain(`plugin:${index}`);
    expect(Object.keys(nociception.totals().by_source)).to.have.length(1_000);
  });

  it('cooldown ends early on request of an operator', () => {
    const { pain, nociception, clock, cooldowns, texts } = testNociception();
    pain('adapter:a', 5);
    expect(nociception.endCooldown('a')).to.equal(true);
    expect(nociception.endCooldown('a')).to.equal(false);
    clock.advance(400_000);
    expect([cooldowns.size, texts()]).to.deep.equal([0, ['adapter_cooldown_started', 'adapter_cooldown_ended']]);
  });
});

describe('a tick', () => {
  it('raises an alert about too many drops since the last one, once per cooldown, and suppresses the fan-out', () => {
    const { nociception, clock, counts, texts } = testNociception(true);
    nociception.tick();
    expect(counts.fanOuts).to.equal(1);
    Object.assign(counts, { dropped: 30, refused: 15, inbox: 5 });
    nociception.tick();
    expect(counts).to.include({ fanOuts: 1, overloads: 1 });
    expect(texts()).to.deep.equal(['pain']);
    clock.advance(10_000);
    counts.dropped += 49;
    nociception.tick();
    expect(counts).to.include({ fanOuts: 1, overloads: 1 });
    counts.dropped += 60;
    nociception.tick();
    expect([counts.overloads, texts()]).to.deep.equal([2, []]);
    clock.advance(60_000);
    nociception.tick();
    expect(counts.fanOuts).to.equal(2);
  });

  it('is broadcast only when the fan-out is on', () => {
    const { nociception, counts } = testNociception();
    nociception.tick();
    expect(counts.fanOuts).to.equal(0);
  });
});
