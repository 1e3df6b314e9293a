import { expect } from 'chai';
import fc from 'fast-check';
import type { GateDecision } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';
import { observation, testGate } from './fixture.js';

const words = fc.constantFrom(
  'hi',
  'urgent',
  'error',
  '@bot',
  '你好？',
  '',
  '  ',
  '\u0000',
  '😀',
  'a@b.c',
  '__proto__',
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(words, { maxLength: 8 }).map((all) => all.join(' ')),
);
const anything = fc.oneof(fc.record({ text }), fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }));

const observations: fc.Arbitrary<Observation> = fc
  .record({
    obs_type: fc.constantFrom('message', 'world_data', 'alert', 'control', 'schedule', 'system'),
    ingress: fc.constantFrom('api', 'ws', 'adapter', 'ingest'),
    source_name: fc.constantFrom('test', 'agent:speaker'),
    session_key: fc.constantFrom('console:u1:s1', 'console:u2:s1', 'system'),
    payload: anything,
    quality_flags: fc.subarray(['EMPTY_CONTENT', 'MISSING_IDENTITY', 'TRUNCATED']),
    hop: fc.nat({ max: 12 }),
    metadata: fc.constantFrom({}, { released_from: 'x' }, { chat_type: 'group' }),
  })
  .map((fields) => observation(fields as Partial<Observation>));

const configs = fc.record({
  overrides: fc.record({
    emergency_mode: fc.boolean(),
    force_low_model: fc.boolean(),
    drop_sessions: fc.subarray(['console:u1:s1']),
    deliver_actors: fc.subarray(['u1']),
  }),
});

function comparable({ elapsed_us: _, ...decision }: GateDecision): object {
  return decision;
}

describe('every decision of the gate', () => {
  it('is the same for the same observations at the same times', () => {
    fc.assert(
      fc.property(fc.array(observations, { maxLength: 30 }), configs, (all, config) => {
        const [one, other] = [testGate(config), testGate(config)];
        for (const [index, each] of all.entries()) {
          const [first, second] = [one, other].map((gate) => gate.handle(each, index * 7_000));
          expect(first && comparable(first.decision)).to.deep.equal(second && comparable(second.decision));
          expect(first?.emit).to.deep.equal(second?.emit);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is counted once, and adds an undelivered observation to exactly one pool', () => {
    fc.assert(
      fc.property(fc.array(observations, { maxLength: 30 }), configs, (all, config) => {
        const { gate, handle, faults } = testGate(config);
        for (const [index, each] of all.entries()) {
          const before = JSON.stringify(each);
          const { decision, ingest } = handle(each, index);
          expect(ingest.length).to.equal(decision.action === 'deliver' ? 0 : 1);
          expect(decision.reasons[0]).to.equal(decision.reason);
          expect(decision.score).to.be.within(0, 1);
          expect(JSON.stringify(each)).to.equal(before);
          const system = each.obs_type !== 'message' && each.obs_type !== 'world_data';
          if (system) {
            const reason = each.hop > 8 ? 'loop_hops' : 'system_plane';
            expect(decision).to.include({ action: each.hop > 8 ? 'drop' : 'deliver', reason });
          }
        }
        const { processed, delivered, sunk, dropped } = gate.totals();
        expect(processed)
          .to.equal(all.length)
          .and.equal(delivered + sunk + dropped);
        expect(faults).to.deep.equal([]);
      }),
      { numRuns: 100 },
    );
  });

  it('equals its explanation', () => {
    fc.assert(
      fc.property(fc.array(observations, { maxLength: 20 }), configs, (all, config) => {
        const { gate, handle } = testGate({
          ...config,
          drop_escalation: { burst_threshold: 1e6, consecutive_threshold: 1e6 },
        });
        for (const [index, each] of all.entries()) {
          const context = { sessionKey: each.session_key ?? '', now: index, session: {} as never, overload: false };
          const explained = gate.explain(each, context).outcome.decision;
          expect(comparable(explained)).to.deep.equal(comparable(handle(each, index).decision));
        }
      }),
      { numRuns: 100 },
    );
  });
});
