import { type CpuRow, percentile, rounded } from './figures.js';
import { chatTurns } from './http-turns.js';
import type { BenchServer } from './server.js';
import { openSockets } from './socket.js';

const rowsPerStatement = 500;

/** Limit of the duration of a turn in a long chat with a summary, relative to a short chat. */
const maxRatio = 1.5;

const longSession = 'console:bench:slong';

const warmUpRounds = 10;
const rounds = 40;

/**
 * Cost of a turn and a page of history in a chat of `rows` messages, compared with one of ten. Fails when a turn of a
 * chat with a summary takes more than {@link maxRatio} times as long.
 *
 * @param summed the long chat has a summary of its earlier messages, so that only the newest ones are read
 */
export async function longChat(server: BenchServer, rows: number, summed: boolean): Promise<CpuRow> {
  await chatTurns(server, 'long', 1);
  await fill(server, longSession, rows);
  const short: number[] = [];
  const long: number[] = [];
  let cpuFrom = server.cpuMs();
  // Alternating, so that noise affects both, and with chats that keep their length.
  for (let round = 0; round < warmUpRounds + rounds; round += 1) {
    if (round === warmUpRounds) cpuFrom = server.cpuMs();
    if (summed) await summarise(server, longSession);
    await chatTurns(server, `short-${round}`, 2);
    const [shortMs, longMs] = [await chatTurns(server, `short-${round}`, 3), await chatTurns(server, 'long', 3)];
    if (round < warmUpRounds) continue;
    short.push(shortMs);
    long.push(longMs);
  }
  const cpuMs = server.cpuMs() - cpuFrom;
  const operations = rounds * 8;
  const [socket] = await openSockets(server.origin, 1);
  const pages: number[] = [];
  for (let n = 0; n < 50; n += 1) {
    const from = performance.now();
    await socket?.ask('chat.history', { session_id: 'slong', user_id: 'bench', channel: 'console', limit: 100 });
    pages.push(performance.now() - from);
  }
  await socket?.close();
  const [shortMs, longMs] = [percentile(short, 50), percentile(long, 50)];
  return {
    name: `a chat of ${rows} messages${summed ? ' with a summary' : ''}`,
    database: server.dialect,
    operations,
    cpuMsEach: rounded(cpuMs / operations),
    turnP50Ms: longMs,
    besideShortChat: rounded(longMs / shortMs),
    ...(summed ? { mayBe: maxRatio, wrong: longMs / shortMs > maxRatio ? 1 : 0 } : {}),
    historyPageP50Ms: percentile(pages, 50),
  };
}

/** Inserts rows of earlier turns, alternating questions and answers. */
async function fill({ tables }: BenchServer, sessionKey: string, rows: number): Promise<void> {
  const { rows: sessions } = await tables.statement<{ current_chat_id: string; next_seq: number }>(
    'select current_chat_id, next_seq from {realtime.sessions} where id = ?',
    [sessionKey],
  );
  const [session] = sessions;
  if (!session) throw new Error(`There is no session ${sessionKey}.`);
  const chatId = session.current_chat_id;
  for (let at = 0; at < rows; at += rowsPerStatement) {
    const some = Array.from({ length: Math.min(rowsPerStatement, rows - at) }, (_, n) => session.next_seq + at + n);
    await tables.statement(
      `insert into {realtime.messages} (id, session_id, chat_id, seq, role, content, status, created_at) values ${some
        .map(() => `(?, ?, ?, ?, ?, ?, 'complete', ${tables.now.millis})`)
        .join(', ')}`,
      some.flatMap((seq) => [
        `old-${seq}`,
        sessionKey,
        chatId,
        seq,
        seq % 2 === 0 ? 'user' : 'assistant',
        `row ${seq}`,
      ]),
    );
  }
  await tables.statement('update {realtime.sessions} set next_seq = next_seq + ? where id = ?', [rows, sessionKey]);
}

/** Gives the chat a summary of all its messages but the last ten. */
async function summarise({ tables }: BenchServer, sessionKey: string): Promise<void> {
  await tables.statement(
    `update {realtime.chats} set summary = ?, summary_seq = (select next_seq - 10 from {realtime.sessions} where id = ?)
      where id = (select current_chat_id from {realtime.sessions} where id = ?)`,
    ['They counted rows. '.repeat(100), sessionKey, sessionKey],
  );
}
