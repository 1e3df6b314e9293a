import { performance } from 'node:perf_hooks';
import type { ConversationService } from 'mortise/contracts/conversation';
import type { GateConfig, GateControl, GateService } from 'mortise/contracts/gate';
import { type Alert, type SettingsService, type StartHost, Throttle } from 'mortise/sdk';
import { Gate } from './gate.js';
import { configFault, defaultConfig } from './gate-config.js';
import { exposeMetrics } from './metrics.js';
import { OverloadMonitor } from './overload-monitor.js';
import { GatePipeline } from './pipeline.js';
import { PoolStore } from './pool-store.js';
import { Pools } from './pools.js';
import { type BaseFacts, Snapshots } from './snapshots.js';
import { DedupMemory } from './stages/dedup.js';

// Imported because every access to the global `performance` runs a getter, which costs as much as a stage.

/** Interval of overload samples, milliseconds. */
const sampleMs = 250;

type AlertCode = 'stage_slow' | 'stage_failed' | 'stage_emit_invalid' | 'gate_error';

const alertTable: Readonly<Record<AlertCode, Pick<Alert, 'severity' | 'message'>>> = {
  stage_slow: { severity: 'low', message: 'A gate stage exceeds its time budget.' },
  stage_failed: { severity: 'high', message: 'A gate stage fails repeatedly; the observations it judges are dropped.' },
  stage_emit_invalid: { severity: 'medium', message: 'A gate stage emitted an invalid observation.' },
  gate_error: { severity: 'high', message: 'The gate failed; an observation was dropped.' },
};

/** Minimum milliseconds between two alerts of a code about one stage. */
const alertIntervalMs: Readonly<Record<AlertCode, number>> = {
  stage_slow: 300_000,
  stage_failed: 60_000,
  stage_emit_invalid: 60_000,
  gate_error: 60_000,
};

/** Why the current content of the configuration file is not applied. */
interface ConfigError {
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
  readonly settings: SettingsService;
  readonly service: GateService;
  readonly control: GateControl;
  readonly conversation: () => ConversationService | undefined;
  readonly monotonic: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** The instance id of this process. */
  readonly replica: string;
  /** Applies a new configuration; keeps the old one when it has a fault that the schema cannot express. */
  reconfigure(config: GateConfig): 'applied' | 'restart';
  configError(): ConfigError | null;
  close(): Promise<void>;
}

/** Composes the gate: configuration, pools, metrics, pipeline and the overload monitor. */
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

  const throttle = new Throttle();
  /** @returns false when the alert was throttled */
  const alert = (code: AlertCode, stage: string, now: number, plugin?: string): boolean => {
    if (!throttle.pass(`${code} ${stage}`, now, alertIntervalMs[code])) return false;
    const data = plugin === undefined ? { stage } : { stage, plugin };
    host.emit('alert', { source: `gate:${code}`, code, ...alertTable[code], data });
    return true;
  };
  const clock = performance.now.bind(performance);
  const dedup = new DedupMemory();
  const store = host.config.persistence === 'sql' ? new PoolStore(host) : undefined;
  const pools = new Pools(() => schedule.now(), store);
  await store?.restore(pools);
  const overload = new OverloadMonitor();
  const metrics = exposeMetrics(host.use('metrics'), pools);
  const contributed = host.points.pipeline('gate-stage');
  const pipeline = new GatePipeline({ contributed, dedup, alert, clock, durationsOf: metrics.durationsOf });
  const gate = new Gate({
    pipeline,
    dedup,
    config: () => snapshots.compiled,
    overload: () => overload.overload,
    fault: (fault, now) => {
      host.log.error({ error: fault instanceof Error ? fault.name : 'error' }, 'the gate has failed');
      alert('gate_error', 'gate', now);
    },
    alert: (raised) => host.emit('alert', raised),
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
    settings,
    service: {
      handle: (observation, context) => gate.handle(observation, context),
      ingest: (items) => pools.ingest(items),
      notPublished: (stage, errors) => {
        const plugin = pipeline.emittedInvalid(stage) ?? 'gate';
        metrics.emittedInvalid(stage, plugin);
        if (!alert('stage_emit_invalid', stage, schedule.monotonic(), plugin)) return;
        // Without the error messages, which may quote a user's text.
        const problems = errors.map(({ path, code }) => ({ path, code }));
        host.log.warn({ stage, plugin, problems }, 'an invalid observation of a gate stage was not published');
      },
    },
    control: controlOf(gate, pools, snapshots, overload),
    conversation: () => watched.current,
    monotonic: () => schedule.monotonic(),
    now: () => schedule.now(),
    replica: host.use('instances').id,
    reconfigure(config) {
      if (config.persistence !== snapshots.snapshot.config.persistence) return 'restart';
      const fault = configFault(config);
      if (fault !== undefined) {
        refuse(fault);
        return 'applied';
      }
      error = null;
      snapshots.replaceBase(config, facts());
      return 'applied';
    },
    configError() {
      const status = settings.configStatus();
      // An error of an earlier content no longer counts once the file is gone.
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
