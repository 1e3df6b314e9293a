import type { GateStage } from '../../../points/gate-stage.js';
import { gateStageSuite } from '../gate-stage.js';
import { testSuite } from '../suite-samples.js';

const good: GateStage['apply'] = (work, { memory, sessionKey }) => {
  const seen = memory('seen');
  if (seen.size > 5_000) seen.clear();
  seen.set(sessionKey, true);
  if (work.observation.hop > 15) work.propose('drop', 'too_many_hops');
  work.addScore(work.observation.confidence ?? 0, 'confidence');
};

const stage = (apply: GateStage['apply'] = good, more: Partial<GateStage> = {}): GateStage => ({
  slot: 'policy',
  order: -10,
  apply,
  ...more,
});

let calls = 0;
let started = 0;

testSuite(
  { ...gateStageSuite, point: 'gate-stage' },
  {
    good: { make: () => stage() },
    subject: { budgetUs: 5_000 },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => stage(good, { slot: 'somewhere' as GateStage['slot'] }),
      },
      'returns no promise': { make: () => stage(async () => undefined) },
      'handles every observation without an error and does not modify it': {
        make: () => stage(({ observation }) => Object.assign(observation, { tags: [] })),
      },
      'proposes drop, sink or deliver, each with a reason': {
        make: () => stage((work) => work.propose('keep' as 'sink', 'two words')),
      },
      'decides 1,000 random observations the same way twice': {
        make: () =>
          stage((work) => {
            calls += 1;
            if (calls % 7 === 0) work.propose('sink', 'seventh');
          }),
      },
      'decides the same way in a dry run': {
        make: () => stage((work, { dryRun }) => (dryRun ? undefined : work.propose('drop', 'for_real'))),
      },
      'keeps at most 10000 entries in a memory': {
        make: () =>
          stage((_, { memory, now }) => {
            for (let index = 0; index < 20; index += 1) memory('all').set(`${now} ${index}`, true);
          }),
      },
      'stays within its time budget at the 99th percentile': {
        make: () =>
          stage(
            () => {
              const end = performance.now() + 0.2;
              while (performance.now() < end);
            },
            { budgetUs: 10 },
          ),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => stage(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
