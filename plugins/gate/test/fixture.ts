import type { GateConfig, GateOutcome, SessionState } from 'mortise/contracts/gate';
import {
  type Alert,
  type GateStage,
  isJsonObject,
  type Observation,
  type Pipeline,
  type PipelineStage,
} from 'mortise/sdk';
import { Gate } from '../gate.js';
import { defaultConfig } from '../gate-config.js';
import { GatePipeline } from '../pipeline.js';
import { Snapshots } from '../snapshots.js';
import { DedupMemory } from '../stages/dedup.js';

export type Patch = { readonly [member: string]: unknown };

interface TestGate {
  readonly gate: Gate;
  readonly pipeline: GatePipeline;
  readonly snapshots: Snapshots;
  readonly dedup: DedupMemory;
  readonly stageAlerts: { readonly what: string; readonly stage: string }[];
  readonly faults: unknown[];
  readonly alerts: Alert[];
  /** Decides at `now` (monotonic milliseconds). */
  handle(observation: Observation, now?: number, overload?: boolean): GateOutcome;
}

/** A new gate with the default configuration and a patch over it. */
export function testGate(patch: Patch = {}, stages: readonly (GateStage & { readonly key: string })[] = []): TestGate {
  const config = merged(defaultConfig() as unknown as Patch, patch) as unknown as GateConfig;
  const snapshots = new Snapshots(config, { sha256: null, loadedAt: '2026-01-01T00:00:00.000Z' });
  const dedup = new DedupMemory();
  const stageAlerts: TestGate['stageAlerts'] = [];
  const faults: unknown[] = [];
  const alerts: Alert[] = [];
  const clock = () => performance.now();
  const pipeline = new GatePipeline({
    contributed: pipelineOf(stages),
    dedup,
    clock,
    alert: (what, stage) => stageAlerts.push({ what, stage }),
  });
  const gate = new Gate({
    pipeline,
    dedup,
    config: () => snapshots.compiled,
    overload: () => false,
    fault: (error) => faults.push(error),
    alert: (alert) => alerts.push(alert),
    clock,
  });
  return {
    gate,
    pipeline,
    snapshots,
    dedup,
    stageAlerts,
    faults,
    alerts,
    handle: (observation, now = 1_000, overload = false) =>
      gate.handle(observation, { sessionKey: observation.session_key ?? '', now, session: sessionState, overload }),
  };
}

export const sessionState: SessionState = Object.freeze({
  session_key: '',
  created_at: 0,
  last_active_at: null,
  processed_total: 0,
  error_total: 0,
  recent_obs: [],
  idleSeconds: () => null,
});

function pipelineOf(stages: readonly (GateStage & { readonly key: string })[]): Pipeline<'gate-stage'> {
  return {
    revision: 1,
    stages: stages.map(
      (stage): PipelineStage<'gate-stage'> => ({
        key: stage.key,
        plugin: 'test',
        facts: stage,
        run: (use) => use(stage),
        failed: () => undefined,
      }),
    ),
  };
}

let made = 0;

export function observation(fields: Partial<Observation> = {}): Observation {
  made += 1;
  return Object.freeze<Observation>({
    obs_id: made.toString(16).padStart(32, '0'),
    obs_type: 'message',
    source_name: 'test',
    source_kind: 'external',
    ingress: 'adapter',
    timestamp: '2026-01-01T00:00:00.000Z',
    received_at: '2026-01-01T00:00:00.000Z',
    session_key: 'console:u1:s1',
    actor: Object.freeze({ actor_type: 'user', actor_id: 'u1' }),
    payload: Object.freeze({ text: 'hi' }),
    quality_flags: Object.freeze([]),
    confidence: null,
    tags: [],
    metadata: Object.freeze({}),
    trace_id: '0'.repeat(32),
    correlation_id: 'corr-0000000000000000',
    hop: 0,
    parent_obs_id: null,
    ...fields,
  });
}

/** A user's message as validation leaves it. */
export function says(text: string, fields: Partial<Observation> = {}): Observation {
  const attachments = fields.payload?.attachments;
  const blank = text.trim() === '' && !(Array.isArray(attachments) && attachments.length > 0);
  return observation({
    quality_flags: blank ? ['EMPTY_CONTENT'] : [],
    ...fields,
    payload: Object.freeze({ text, ...fields.payload }),
  });
}

export function pools(outcome: GateOutcome): readonly string[] {
  return outcome.ingest.map(({ pool }) => pool);
}

function merged(base: Patch, patch: Patch): Patch {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(patch)) {
    const below = result[name];
    const both = isPlain(value) && isPlain(below);
    result[name] = both ? merged(below, value) : value;
  }
  return result;
}

function isPlain(value: unknown): value is Patch {
  return isJsonObject(value);
}
