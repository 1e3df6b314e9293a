// The global of the same name is looked up anew with every use, which costs as much as a stage.
import { performance } from 'node:perf_hooks';
import {
  type Alert,
  type ConversationService,
  type GateConfig,
  type GateControl,
  type GateService,
  MortiseError,
  type StartHost,
  Throttle,
} from 'mortise/sdk';
import { configFault } from './check-config.js';
import { DedupMemory } from './dedup-memory.js';
import { defaultConfig } from './default-config.js';
import { Gate } from './gate.js';
import { exposeMetrics } from './metrics.js';
import { OverloadMonitor } from './overload-monitor.js';
import { GatePipeline } from './pipeline.js';
import { Pools } from './pools.js';
import { type BaseFacts, Snapshots } from './snapshots.js';
import { poolStoreOf } from './store/keep-pools.js';

/** How often the process is asked how it is, milliseconds. */
const sampleMs = 250;
const quietMs = { stage_slow: 300_000, stage_failed: 60_000, stage_emit_invalid: 60_000, gate_error: 60_000 } as const;

const troubles: Readonly<Record<keyof typeof quietMs, Pick<Alert, 'severity' | 'message'>>> = {
  stage_slow: { severity: 'low', message: 'A stage of the gate takes longer than its budget.' },
  stage_failed: { severity: 'high', message: 'A stage of the gate fails again and again; what it judges is dropped.' },
  stage_emit_invalid: { severity: 'medium', message: 'A stage of the gate emits what is no observation.' },
  gate_error: { severity: 'high', message: 'The gate itself has failed; an observation was dropped.' },
};

/** Why the file as it is now is not in force. */
export interface ConfigError {
  /** RFC 3339. */
  readonly at: string;
  readonly message: string;
  readonly sha256: string | null;
}

export interface RunningGate {
  readonly gate: Gate;
  readonly pipeline: GatePipeline;
  readonly pools: Pools;
  readonly snapshots: Snapshots;
  readonly overload: OverloadMonitor;
  readonly service: GateService;
  readonly control: GateControl;
  readonly conversation: () => ConversationService | undefined;
  readonly monotonic: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Of the instance of the process. */
  readonly replica: string;
  /** Takes over what the file says now; a fault that the schema cannot see leaves the old state in force. */
  adopt(config: GateConfig): void;
  configError(): ConfigError | null;
  close(): Promise<void>;
}

/** Puts the parts of the gate together. */
export async function startGate(host: StartHost<GateConfig>): Promise<RunningGate> {
  const schedule = host.use('schedule');
  const settings = host.use('settings');
  const watched = host.watch('conversation');
  const facts = (): BaseFacts => {
    const status = settings.configStatus();
    return { sha256: status?.sha256 ?? null, loadedAt: status?.loadedAt ?? new Date(schedule.now()).toISOString() };
  };
  let error: ConfigError | null = null;
  const refuse = (message: string): void => {
    error = { at: new Date(schedule.now()).toISOString(), message, sha256: facts().sha256 };
    host.emit('alert', { source: 'settings:gate', severity: 'medium', code: 'gate_config_invalid', message });
  };
  const firstFault = configFault(host.config);
  const snapshots = new Snapshots(firstFault === undefined ? host.config : defaultConfig(), facts());
  if (firstFault !== undefined) refuse(firstFault);

  const quiet = new Throttle();
  const raise = (code: keyof typeof quietMs, data: Alert['data']): void =>
    host.emit('alert', { source: `gate:${code}`, code, ...troubles[code], ...(data ? { data } : {}) });
  const trouble = (code: keyof typeof quietMs, subject: string, now: number): void => {
    if (!quiet.pass(`${code} ${subject}`, now, quietMs[code])) return;
    raise(code, { stage: subject });
  };
  const clock = performance.now.bind(performance);
  const dedup = new DedupMemory();
  const store = host.config.persistence === 'sql' ? poolStoreOf(host) : undefined;
  const pools = new Pools(() => schedule.now(), store);
  await store?.restore(pools);
  const overload = new OverloadMonitor();
  const metrics = exposeMetrics(host.use('metrics'), pools);
  const contributed = host.points.pipeline('gate-stage');
  const pipeline = new GatePipeline({ contributed, dedup, trouble, clock, timed: metrics.stage });
  const gate = new Gate({
    pipeline,
    dedup,
    config: () => snapshots.compiled,
    overload: () => overload.overload,
    fault: (fault, now) => {
      host.log.error({ error: fault instanceof Error ? fault.name : 'error' }, 'the gate has failed');
      trouble('gate_error', 'gate', now);
    },
    alert: (alert) => host.emit('alert', alert),
    decided: metrics.decided,
    clock,
  });
  let expected = schedule.monotonic() + sampleMs;
  host.every(sampleMs, () => {
    const now = schedule.monotonic();
    const lagMs = Math.max(0, now - expected);
    expected = now + sampleMs;
    const stats = watched.current?.stats();
    const sample = { busRatio: stats ? stats.depth / stats.capacity : 0, lagMs };
    if (!overload.sample(sample, snapshots.snapshot.config.overload, now)) return;
    host.emit('alert', {
      source: 'system:gate_overload',
      severity: 'high',
      code: 'pain',
      message: 'The process is overloaded; messages are refused until it has recovered.',
      data: { source_kind: 'system', source_id: 'gate_overload', bus_ratio: sample.busRatio, lag_ms: sample.lagMs },
    });
  });
  return {
    gate,
    pipeline,
    pools,
    snapshots,
    overload,
    service: {
      handle: (observation, context) => gate.handle(observation, context),
      ingest: (items) => pools.ingest(items),
      notPublished: (stage, errors) => {
        const plugin = pipeline.slipped(stage) ?? 'gate';
        metrics.slipped(stage, plugin);
        if (!quiet.pass(`stage_emit_invalid ${stage}`, schedule.monotonic(), quietMs.stage_emit_invalid)) return;
        // Without the messages: what they quote may be what a person wrote.
        const problems = errors.map(({ path, code: error }) => ({ path, code: error }));
        host.log.warn({ stage, plugin, problems }, 'what a stage emitted was not published');
        raise('stage_emit_invalid', { stage, plugin });
      },
    },
    control: controlOf(gate, pools, snapshots, overload),
    conversation: () => watched.current,
    monotonic: () => schedule.monotonic(),
    now: () => schedule.now(),
    replica: host.use('instances').id,
    adopt(config) {
      const fault = configFault(config);
      if (fault !== undefined) {
        refuse(fault);
        return;
      }
      error = null;
      snapshots.replaceBase(config, facts());
    },
    configError() {
      const status = settings.configStatus();
      // What the file says now decides: a fault of an earlier content is none any more.
      return status?.lastError ?? (status?.gone ? null : error);
    },
    close: async () => store?.close(),
  };
}

function controlOf(gate: Gate, pools: Pools, snapshots: Snapshots, overload: OverloadMonitor): GateControl {
  return {
    snapshot: () => snapshots.snapshot,
    totals: () => gate.totals(),
    updateOverrides: (patch, entry) => snapshots.update(patch, entry),
    checkOverrides: (patch) => snapshots.check(patch),
    onChange: (run) => snapshots.onChange(run),
    removeOverride: (layer, key) => snapshots.remove(layer, key),
    take: (pool, obsId) => pools.take(pool, obsId),
    stopped: (actorId) => {
      const { config, dropActors } = snapshots.compiled;
      if (actorId !== undefined && dropActors.has(actorId)) return 'drop_actor';
      if (config.overrides.emergency_mode) return 'emergency_mode';
      return overload.overload ? 'system_overload' : undefined;
    },
  };
}

/** The conversation, without which a route has nothing to say. */
export function conversationOf(running: RunningGate): ConversationService {
  const conversation = running.conversation();
  if (conversation) return conversation;
  throw new MortiseError('plugin_unavailable', 'The conversation is not running.', { status: 503 });
}
