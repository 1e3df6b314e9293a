import type { Command, CommandFacts, Principal, Route } from 'mortise/sdk';
import type { RunningGate } from '../start-gate.js';

/** State that each replica has of its own; overrides are shared by replicas that share a database server. */
const perReplica = ['pools', 'cooldowns', 'dedup', 'sessions', 'egress', 'totals'] as const;

/** `GET /gate/status`. */
export function statusRoute(running: RunningGate): Route {
  return { handle: (_request, { principal }) => ({ body: readStatus(running, principal) }) };
}

/** Overrides that list users or sessions, which only the admin right shows. */
const usersLists = { drop_actors: [], drop_sessions: [], deliver_actors: [], deliver_sessions: [] };

/** The effective configuration, the health of the process and the cost of each stage. */
function readStatus(running: RunningGate, { admin }: Principal) {
  const { snapshots, overload, pipeline, gate, settings } = running;
  const { snapshot } = snapshots;
  const { overrides } = snapshot.config;
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
      effective: admin ? overrides : { ...overrides, ...usersLists },
      layers: snapshot.layers
        .filter(({ key }) => admin || !Object.hasOwn(usersLists, key))
        .map((entry) => ({ ...entry, expires_at: timeOf(entry.expires_at) })),
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

type Status = ReturnType<typeof readStatus>;

/** `mortise gate status`. */
export function statusCommand(facts: CommandFacts, running: RunningGate): Command {
  return {
    ...facts,
    isRead: () => true,
    run: async (_input, { principal }) => {
      const status = readStatus(running, principal);
      return { exitCode: 0, data: status, text: statusText(status) };
    },
  };
}

function statusText({
  ok,
  source,
  base,
  revision,
  overrides,
  health,
  sessions,
  totals,
  stages,
  cooldowns,
}: Status): string {
  const { processed, delivered, sunk, dropped } = totals;
  const troubled = stages.filter(({ state }) => state !== 'ok');
  return [
    `Configuration: ${ok ? source : `not applied: ${base.last_error?.message}`}, revision ${revision}`,
    ...overrides.layers.map(
      ({ layer, key, value, expires_at }) =>
        `Override (${layer}): ${key} = ${JSON.stringify(value)}${expires_at === null ? '' : `, until ${expires_at}`}`,
    ),
    `Decided: ${processed} (delivered ${delivered}, sunk ${sunk}, dropped ${dropped})`,
    `Process: ${health.overload ? 'overloaded' : 'not overloaded'}; bus ${health.bus_depth} of ${health.bus_capacity}, lag ${health.loop_lag_ms} ms`,
    `Sessions: ${sessions.count}, ${sessions.running} running; ${sessions.queued} observations queued`,
    ...troubled.map(
      ({ key, state, failures, p99_us }) => `Stage ${key}: ${state} (failed ${failures}, p99 ${p99_us} µs)`,
    ),
    ...cooldowns.map(({ adapter, until, reason }) => `Adapter ${adapter} is cooling down until ${until}: ${reason}`),
  ].join('\n');
}

/** `POST /gate/config/reload`. */
export function reloadRoute(gate: RunningGate): Route {
  return { handle: async () => ({ body: await reload(gate) }) };
}

/** Reads the configuration file now. */
async function reload(gate: RunningGate) {
  const before = gate.snapshots.snapshot.revision;
  const { error } = await gate.settings.reload();
  const { revision } = gate.snapshots.snapshot;
  return { changed: revision !== before, revision, error: error ?? gate.configError()?.message ?? null };
}

/** `mortise gate reload`; exit code 1 when the file is not applied. */
export function reloadCommand(facts: CommandFacts, running: RunningGate): Command {
  return {
    ...facts,
    run: async () => {
      const reloaded = await reload(running);
      const { changed, revision, error } = reloaded;
      const text = error ?? (changed ? `Applied: revision ${revision}.` : `Unchanged: revision ${revision}.`);
      return { exitCode: error === null ? 0 : 1, data: reloaded, text };
    },
  };
}
