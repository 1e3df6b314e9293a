import fc from 'fast-check';
import type { Observation } from '../../observation.js';
import { hostileTexts } from './hostile.js';

const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 32, maxLength: 32 });
const moment = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.constantFrom(...hostileTexts));

const observation: fc.Arbitrary<Observation> = fc.record(
  {
    obs_id: hex,
    obs_type: fc.constantFrom('message', 'world_data', 'alert', 'control', 'schedule', 'system'),
    source_name: fc.constantFrom('ws:chat', 'cron:nightly', 'agent:speaker', 'timer:tick'),
    source_kind: fc.constantFrom('external', 'internal'),
    ingress: fc.constantFrom('api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'),
    timestamp: moment,
    received_at: moment,
    session_key: text,
    actor: fc.record(
      { actor_id: text, actor_type: fc.constantFrom('user', 'system', 'service', 'unknown'), display_name: text },
      { requiredKeys: ['actor_type'] },
    ),
    payload: fc.oneof(fc.record({ text }), fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 })),
    quality_flags: fc.subarray(['DUPLICATE', 'EMPTY_CONTENT', 'LOW_CONFIDENCE', 'SUSPECT_INJECTION', 'TRUNCATED']),
    confidence: fc.oneof(fc.constant(null), fc.double({ min: 0, max: 1, noNaN: true })),
    tags: fc.array(fc.string(), { maxLength: 5 }),
    metadata: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
    trace_id: hex,
    correlation_id: fc.constant('corr-0123456789abcdef'),
    hop: fc.nat({ max: 20 }),
    parent_obs_id: fc.oneof(fc.constant(null), hex),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      'obs_id',
      'obs_type',
      'source_name',
      'source_kind',
      'ingress',
      'timestamp',
      'received_at',
      'payload',
      'quality_flags',
      'confidence',
      'tags',
      'metadata',
      'trace_id',
      'correlation_id',
      'hop',
      'parent_obs_id',
    ],
  },
) as fc.Arbitrary<Observation>;

const made = new Map<string, readonly Observation[]>();

/** Observations of every type, with texts that break careless code. The same seed gives the same observations. */
export function randomObservations(count: number, seed: number): readonly Observation[] {
  const name = `${count} ${seed}`;
  const known = made.get(name) ?? fc.sample(observation, { numRuns: count, seed });
  made.set(name, known);
  return known;
}
