import { setTimeout as sleep } from 'node:timers/promises';
import { brokenRules, isAcceptable } from './invariants.js';
import { openSessions, question, type Stage } from './stage.js';
import { WorkerProcess } from './worker-process.js';

interface Kills {
  readonly kills: number;
  /** Turns that were running when their process was killed. */
  readonly interrupted: number;
  /** Longest time in milliseconds until a session could be claimed after a kill. */
  readonly longestMs: number;
  readonly broken: readonly string[];
}

const ttlSeconds = 0.5;
const ids = ['k0', 'k1', 'k2', 'k3'];

/** Kills a process that writes turns at random times, and checks the tables after each kill. */
export async function kills(stage: Stage, count: number, seed: number, onKill: (n: number) => void): Promise<Kills> {
  const host = await openSessions(stage.env, ttlSeconds);
  const sessions = host.service('sessions');
  const broken: string[] = [];
  let interrupted = 0;
  let longestMs = 0;
  let random = seed;
  let next = new WorkerProcess(stage, ttlSeconds);
  try {
    for (let n = 0; n < count; n += 1) {
      random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
      const worker = next;
      await worker.order({ do: 'run', sessionIds: ids, seed: random });
      await sleep(20 + (random % 150));
      // The next one starts meanwhile, because most of a round is waiting for its start.
      next = new WorkerProcess(stage, ttlSeconds);
      await worker.kill();
      const killed = performance.now();
      await Promise.all(
        ids.map(async (id) => {
          const opened = await sessions.openTurn(question(id, 'after'), { waitMs: 10_000 });
          if (opened.kind !== 'open') return void broken.push(`kill ${n}: ${id} was not free`);
          longestMs = Math.max(longestMs, performance.now() - killed);
          const { turn } = opened;
          if (!isAcceptable(sessions.modelMessages(await turn.history()))) broken.push(`kill ${n}: history of ${id}`);
          await turn.close({ status: 'completed', messages: [{ role: 'assistant', content: 'fine' }], steps: 1 });
        }),
      );
      broken.push(...(await brokenRules(stage)).map((rule) => `kill ${n}: ${rule}`));
      onKill(n + 1);
    }
    const { rows } = await stage.tables.statement<{ n: number }>(
      "select count(*) as n from {realtime.turns} where status = 'interrupted'",
    );
    interrupted = rows[0]?.n ?? 0;
  } finally {
    await next.kill();
    await host.stop();
  }
  return { kills: count, interrupted, longestMs: Math.round(longestMs), broken };
}
