import type { Route, SettingsService } from 'mortise/sdk';
import type { RunningGate } from '../start-gate.js';

/** What every replica has for itself; overrides are shared where replicas share a database server. */
const perReplica = ['pools', 'cooldowns', 'dedup', 'sessions', 'egress', 'totals'] as const;

/** `GET /gate/status`. */
export function statusRoute(running: RunningGate, settings: SettingsService): Route {
  return { handle: () => ({ body: readStatus(running, settings) }) };
}

/** What is in force, how the process is, and what each stage costs. */
export function readStatus(running: RunningGate, settings: SettingsService) {
  const { snapshots, overload, pipeline, gate } = running;
  const { snapshot } = snapshots;
  const now = running.monotonic();
  const conversation = running.conversation();
  const stats = conversation?.stats();
  const status = settings.configStatus();
  const error = running.configError();
  return {
    ok: error === null,
    revision: snapshot.revision,
    source: status?.source ?? 'defaults',
    base: {
      path: status?.path ?? null,
      sha256: snapshot.base_sha256,
      loaded_at: snapshot.loaded_at,
      last_error: error,
    },
    overrides: {
      effective: snapshot.config.overrides,
      layers: snapshot.layers.map((entry) => ({ ...entry, expires_at: timeOf(entry.expires_at) })),
    },
    health: {
      overload: overload.overload,
      since: overload.since === null ? null : timeOf(running.now() - (now - overload.since)),
      bus_depth: stats?.depth ?? 0,
      bus_capacity: stats?.capacity ?? 0,
      loop_lag_ms: Math.round(overload.last.lagMs),
    },
    stages: pipeline.status(now),
    sessions: { count: stats?.sessions ?? 0, running: stats?.running ?? 0, queued: stats?.queued ?? 0 },
    cooldowns:
      conversation?.cooldowns().map(({ adapter, until, reason }) => ({
        adapter,
        until: timeOf(running.now() + (until - now)),
        reason,
      })) ?? [],
    egress: conversation?.egress() ?? [],
    totals: gate.totals(),
    replica: { id: running.replica, per_replica: perReplica },
  };
}

function timeOf(millis: number | null): string | null {
  return millis === null ? null : new Date(millis).toISOString();
}
