/** A process on the stage's database. It is controlled by messages, and may be stopped or killed at any moment. */
import type { OpenTurn } from 'mortise/contracts/sessions';
import { openSessions, question } from './stage.js';

export type Order =
  /** Opens a turn in each session and keeps it open. */
  | { readonly do: 'open'; readonly sessionIds: readonly string[] }
  /** Appends to each open turn, then closes it. */
  | { readonly do: 'write' }
  /** Writes whole turns into each session until it is killed. */
  | { readonly do: 'run'; readonly sessionIds: readonly string[]; readonly seed: number };

/** Number of writes by outcome: `written`, or the code of the error. */
export type Outcomes = Readonly<Record<string, number>>;

const [env = '{}', ttlSeconds = '30'] = process.argv.slice(2);
const host = await openSessions(JSON.parse(env), Number(ttlSeconds));
const sessions = host.service('sessions');
const open: OpenTurn[] = [];

async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'written';
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
}

async function write(): Promise<Outcomes> {
  const counts: Record<string, number> = {};
  const note = (outcome: string): void => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  for (const turn of open.splice(0)) {
    note(await outcomeOf(() => turn.append([{ role: 'assistant', content: 'stale' }])));
    note(await outcomeOf(() => turn.close({ status: 'completed', steps: 1 })));
  }
  return counts;
}

async function writeTurns(sessionId: string, random: () => number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const opened = await sessions.openTurn(question(sessionId, `question ${n}`), { waitMs: 60_000 });
    if (opened.kind !== 'open') throw new Error(opened.kind);
    const { turn } = opened;
    for (let round = Math.floor(random() * 3); round > 0; round -= 1) {
      const calls = ['a', 'b'].map((id) => ({ id: `${id}${round}`, name: 'echo', arguments: '{}' }));
      await turn.append([{ role: 'assistant', content: '', toolCalls: calls }]);
      for (const { id } of calls) await turn.append([{ role: 'tool', content: '{}', toolCallId: id }]);
    }
    await turn.close({ status: 'completed', messages: [{ role: 'assistant', content: `answer ${n}` }], steps: 1 });
  }
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

process.on('message', async (order: Order) => {
  if (order.do === 'open') {
    for (const sessionId of order.sessionIds) {
      const opened = await sessions.openTurn(question(sessionId));
      if (opened.kind === 'open') open.push(opened.turn);
    }
    process.send?.(open.length);
  } else if (order.do === 'write') {
    process.send?.(await write());
  } else {
    await Promise.all(order.sessionIds.map((id, at) => writeTurns(id, randomOf(order.seed + at))));
  }
});
process.send?.('ready');
