import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, startServer } from 'mortise/sdk/testing';
import type { DatabaseKind } from '../options.js';
import { randomStream } from '../plan/random-stream.js';
import { type Call, type CallKind, callKinds, openCaller } from './calls.js';
import { begunCalls, writeSlowPlugin } from './slow-plugin.js';

interface StopRun {
  readonly database: DatabaseKind;
  readonly rounds: number;
  readonly seed: number;
  /** Called after each round. */
  readonly onRound?: (done: number) => void;
}

export interface StopResult {
  readonly ok: boolean;
  readonly database: DatabaseKind;
  readonly rounds: number;
  readonly seed: number;
  /** Calls that a plugin had begun, by kind and end. */
  readonly begun: Readonly<Record<CallKind, Readonly<Record<string, number>>>>;
  /** A sentence per begun call without an answer, and per server that did not exit cleanly. */
  readonly violations: readonly string[];
}

/** Calls of each kind per round. */
const callsPerKind = 3;

/** Maximum duration of an answer, milliseconds; the signal arrives after some answers. */
const maxAnswerMs = 300;

/** Shutdown limit, seconds. */
const shutdownSeconds = 2;

/** The share of calls that take a minute, which must end with an error code at the limit. */
const lateShare = 0.05;

/**
 * Stops a server with SIGTERM while calls of every kind are in flight. Each call that a plugin has begun must get its
 * answer or an error with a code; one that the server had not accepted may be refused with its connection.
 */
export async function runStops({ database: kind, rounds, seed, onRound }: StopRun): Promise<StopResult> {
  const database = await createTestDatabase(kind);
  const folder = await mkdtemp(join(tmpdir(), 'mortise-stops-'));
  const ends = Object.fromEntries(callKinds.map((one) => [one, {}])) as Record<CallKind, Record<string, number>>;
  const violations: string[] = [];
  try {
    const keys = await writeSlowPlugin(folder);
    const plugins = { version: 1, plugins: Object.fromEntries(keys.map((key) => [key, { enabled: true }])) };
    for (let round = 1; round <= rounds; round += 1) {
      const random = randomStream(seed, `stop ${round}`);
      const env = { MORTISE_HTTP_SHUTDOWN_TIMEOUT_SECONDS: String(shutdownSeconds), MORTISE_WATCHDOG_SECONDS: '0' };
      const server = await startServer({ folder, plugins, database: database.env, env, limitMs: 60_000 });
      try {
        const caller = await openCaller(server.origin);
        const calls: Call[] = callKinds.flatMap((one) =>
          Array.from({ length: callsPerKind }, (_, n) =>
            caller.start[one](
              `${round}-${one}-${n}`,
              random.chance(lateShare) ? 60_000 : random.between(0, maxAnswerMs),
            ),
          ),
        );
        await begun(() => server.output(), random.between(1, calls.length), calls);
        await pause(random.between(0, maxAnswerMs / 2));
        const code = await server.end('SIGTERM');
        if (code !== 0) violations.push(`Round ${round}: the server ended with ${code}.`);
        const known = begunCalls(server.output());
        for (const { id, kind: sort, ended } of calls) {
          const { end, seen } = await ended;
          if (!known.has(id) && end !== 'answered') continue;
          ends[sort][end] = (ends[sort][end] ?? 0) + 1;
          if (end === 'silent' || end === 'refused')
            violations.push(
              `Round ${round}: the ${sort} call ${id} was begun and got no answer (${seen.slice(-200)}).`,
            );
        }
        caller.close();
      } finally {
        await server.dispose();
      }
      onRound?.(round);
    }
  } finally {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
  return { ok: violations.length === 0, database: kind, rounds, seed, begun: ends, violations };
}

/** Waits until a plugin has begun this many calls, or until all have ended. */
async function begun(output: () => string, count: number, calls: readonly Call[]): Promise<void> {
  let isOver = false;
  void Promise.all(calls.map(({ ended }) => ended)).then(() => {
    isOver = true;
  });
  while (!isOver && begunCalls(output()).size < count) await pause(5);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
