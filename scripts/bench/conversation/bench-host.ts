import type { ObservationHandler } from 'mortise/contracts/conversation';
import type { ObservationInput } from '../../../core/sdk/index.js';
import {
  createTestHost,
  localPrincipal,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
} from '../../../core/sdk/testing/index.js';

/** Figures of a measurement, and whether they are within their limits. */
export interface Measured {
  readonly ok: boolean;
  readonly [figure: string]: unknown;
}

/** The platform with the gate, and one message handler instead of the agent. */
export function openBenchHost(
  handle: ObservationHandler['handle'],
  { env, config, plugins = [], extra = [], ...more }: TestHostOptions = {},
): Promise<TestHost> {
  const facts = { types: ['message'], timeoutMs: 0 } as const;
  const handler: TestPlugin = {
    manifest: { key: 'bench-handler', contributes: { 'observation-handler': [{ key: 'bench', facts }] } },
    definition: {
      key: 'bench-handler',
      register: (host) => void host.contribute('observation-handler', 'bench', { ...facts, handle }),
    },
  };
  return createTestHost({
    plugins: ['conversation', 'gate', 'channel-console', ...plugins],
    extra: [handler, ...extra],
    listen: false,
    // Other load on the machine must not cause refusals.
    config: { ...config, gate: { version: 1, overload: { lag_on_ms: 3_600_000 }, ...config?.gate } },
    env: { MORTISE_BUS_CAPACITY: '1000000', MORTISE_LOG_LEVEL: 'warn', MORTISE_TICK_SECONDS: '0', ...env },
    ...more,
  });
}

/** The `round`th message of a session, different from all others. */
export function messageOf(session: number, round: number): ObservationInput {
  return {
    source_name: 'bench',
    ingress: 'adapter',
    session_key: `console:u${session}:s`,
    actor: { actor_type: 'user', actor_id: `u${session}` },
    payload: { text: `message ${round} of session ${session}, with some more words to read` },
    metadata: { session, round },
  };
}

/** Publishes the messages of all sessions round by round, a few at a time as sockets and requests would. */
export async function publishRounds(host: TestHost, sessions: number, rounds: number, first = 0): Promise<void> {
  const conversation = host.service('conversation');
  let published = 0;
  for (let round = first; round < first + rounds; round += 1) {
    for (let session = 0; session < sessions; session += 1) {
      conversation.publish(messageOf(session, round), { principal: localPrincipal });
      published += 1;
      if (published % 200 === 0) await yieldToEventLoop();
    }
  }
}

/** One turn of the event loop. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The value that this share of the figures does not exceed. */
export function quantile(figures: readonly number[], share: number): number {
  const sorted = Float64Array.from(figures).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** User and system time of this process, seconds. */
export function cpuSeconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

/** Rounds to a number of decimals. */
export function rounded(value: number, decimals = 1): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}
