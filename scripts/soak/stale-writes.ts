import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenTurn, SessionsService } from 'mortise/contracts/sessions';
import { openSessions, question, type Stage } from './stage.js';
import { openProxy } from './tcp-proxy.js';
import type { Outcomes } from './worker.js';
import { WorkerProcess } from './worker-process.js';

interface StaleWrites {
  readonly fault: string;
  /** Writes of owners that have lost their session. */
  readonly stale: number;
  /** Stale writes that were refused. */
  readonly refused: number;
  /** Sessions whose rows or numbers differ from those of the new owner. */
  readonly changed: number;
}

const count = 100;
const key = (id: string): string => `console:soak:${id}`;

/** A fault that makes the owner of a turn lose its session. */
type SessionFault = (stage: Stage, sessionId: string, rival: SessionsService) => Promise<void>;

async function takeOver(stage: Stage, sessionId: string, rival: SessionsService): Promise<OpenTurn> {
  await stage.tables.statement('update {realtime.sessions} set lease_expires_at = 1 where id = ?', [key(sessionId)]);
  return openBy(rival, sessionId);
}

async function openBy(sessions: SessionsService, sessionId: string): Promise<OpenTurn> {
  const opened = await sessions.openTurn(question(sessionId, 'mine'), { waitMs: 30_000 });
  if (opened.kind !== 'open') throw new Error(`${sessionId} is ${opened.kind}`);
  return opened.turn;
}

const faults: Readonly<Record<string, SessionFault>> = {
  'taken over': async (stage, id, rival) => void (await takeOver(stage, id, rival)),
  'taken over and released': async (stage, id, rival) => {
    const turn = await takeOver(stage, id, rival);
    await turn.close({ status: 'completed', messages: [{ role: 'assistant', content: 'mine' }], steps: 1 });
  },
  'token rewritten': async ({ tables }, id) => {
    await tables.statement("update {realtime.sessions} set lock_token = 'rival' where id = ?", [key(id)]);
  },
  'session deleted': async ({ tables }, id) => {
    await tables.statement('delete from {realtime.sessions} where id = ?', [key(id)]);
  },
};

/** The state of each session: its next number and its rows. */
async function look({ tables }: Stage, prefix: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await tables.statement<{ id: string; next_seq: number; rows: number; last: string | null }>(
    `select s.id, s.next_seq, (select count(*) from {realtime.messages} m where m.session_id = s.id) as rows,
       (select max(m.id) from {realtime.messages} m where m.session_id = s.id) as last
     from {realtime.sessions} s where s.client_session_id like ?`,
    [`${prefix}%`],
  );
  return new Map(rows.map((row) => [row.id, `${row.next_seq} ${row.rows} ${row.last}`]));
}

function different(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): number {
  return [...new Set([...before.keys(), ...after.keys()])].filter((id) => before.get(id) !== after.get(id)).length;
}

/** Opens turns in a process, takes their sessions away with `lose`, and makes the process write anyway. */
async function inProcess(
  stage: Stage,
  fault: string,
  ttlSeconds: number,
  lose: (worker: WorkerProcess, ids: readonly string[]) => Promise<void>,
): Promise<StaleWrites> {
  const worker = new WorkerProcess(stage, ttlSeconds);
  try {
    const ids = Array.from({ length: count }, (_, n) => `${fault.replaceAll(' ', '-')}-${n}`);
    await worker.ask({ do: 'open', sessionIds: ids });
    await lose(worker, ids);
    const before = await look(stage, fault.replaceAll(' ', '-'));
    const writing = worker.ask<Outcomes>({ do: 'write' });
    worker.child.kill('SIGCONT');
    const outcomes = await writing;
    const stale = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
    const changed = different(before, await look(stage, fault.replaceAll(' ', '-')));
    return { fault, stale, refused: outcomes.session_fenced ?? 0, changed };
  } finally {
    await worker.kill();
  }
}

/** Writes of owners that lost their session in every possible way. None may be stored. */
export async function staleWrites(stage: Stage): Promise<readonly StaleWrites[]> {
  const host = await openSessions(stage.env, 30);
  const rival = host.service('sessions');
  const results: StaleWrites[] = [];
  try {
    for (const [fault, takeSession] of Object.entries(faults)) {
      const steal = async (_: WorkerProcess, ids: readonly string[]): Promise<void> => {
        for (const id of ids) await takeSession(stage, id, rival);
      };
      results.push(await inProcess(stage, fault, 30, steal));
    }
    results.push(
      await inProcess(stage, 'stopped for longer than its claim', 1, async (worker, ids) => {
        await freeze(stage, worker);
        await Promise.all(ids.map((id) => openBy(rival, id)));
      }),
    );
    if (stage.dialect === 'postgres') results.push(await cutOff(stage, rival));
  } finally {
    await host.stop();
  }
  return results;
}

/** The owner loses its database connection, and regains it after others have taken over. */
async function cutOff(stage: Stage, rival: SessionsService): Promise<StaleWrites> {
  const { DATABASE_HOST = '', DATABASE_PORT = '' } = stage.env;
  const proxy = await openProxy(DATABASE_HOST, Number(DATABASE_PORT));
  try {
    const env = { ...stage.env, DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(proxy.port) };
    return await inProcess({ ...stage, env }, 'cut off for longer than its claim', 1, async (_, ids) => {
      proxy.interrupt();
      await Promise.all(ids.map((id) => openBy(rival, id)));
      proxy.restore();
    });
  } finally {
    proxy.dispose();
  }
}

/** Stops a process, but not in the middle of a transaction: on SQLite no process could write until it continues. */
async function freeze({ tables }: Stage, { child }: WorkerProcess): Promise<void> {
  child.kill('SIGSTOP');
  while (!(await tables.canWrite(300))) {
    child.kill('SIGCONT');
    await sleep(20);
    child.kill('SIGSTOP');
  }
}
