import type { Command, CommandFacts, SettingsService } from 'mortise/sdk';
import { readStatus } from '../routes/status.js';
import type { RunningGate } from '../start-gate.js';

type Status = ReturnType<typeof readStatus>;

/** `mortise gate status`. */
export function statusCommand(facts: CommandFacts, running: RunningGate, settings: SettingsService): Command {
  return {
    ...facts,
    isRead: () => true,
    run: async () => {
      const status = readStatus(running, settings);
      return { exitCode: 0, data: status, text: shown(status) };
    },
  };
}

function shown({ ok, source, base, revision, overrides, health, sessions, totals, stages, cooldowns }: Status): string {
  const { processed, delivered, sunk, dropped } = totals;
  const troubled = stages.filter(({ state }) => state !== 'ok');
  return [
    `Configuration: ${ok ? source : `not in force: ${base.last_error?.message}`}, revision ${revision}`,
    ...overrides.layers.map(
      ({ layer, key, value, expires_at }) =>
        `Override (${layer}): ${key} = ${JSON.stringify(value)}${expires_at === null ? '' : `, until ${expires_at}`}`,
    ),
    `Decided: ${processed} (delivered ${delivered}, sunk ${sunk}, dropped ${dropped})`,
    `Process: ${health.overload ? 'overloaded' : 'well'}; bus ${health.bus_depth} of ${health.bus_capacity}, lag ${health.loop_lag_ms} ms`,
    `Sessions: ${sessions.count}, of which ${sessions.running} work; ${sessions.queued} observations wait`,
    ...troubled.map(
      ({ key, state, failures, p99_us }) => `Stage ${key}: ${state} (failed ${failures}, p99 ${p99_us} µs)`,
    ),
    ...cooldowns.map(({ adapter, until, reason }) => `Adapter ${adapter} cools down until ${until}: ${reason}`),
  ].join('\n');
}
