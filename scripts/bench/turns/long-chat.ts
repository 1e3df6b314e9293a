import { type CpuRow, percentile, rounded } from './figures.js';
import { chatTurns } from './http-turns.js';
import type { BenchServer } from './server.js';
import { openSockets } from './socket.js';

const rowsPerStatement = 500;

/**
 * What a turn and a page of history cost in a chat of `rows` messages, beside one of ten.
 *
 * @param summed the long chat has a summary of its earlier messages, so that only the newest ones are read
 */
export async function longChat(server: BenchServer, rows: number, summed: boolean): Promise<CpuRow> {
  await chatTurns(server, 'short', 5);
  await chatTurns(server, 'long', 1);
  await fill(server, 'console:bench:slong', rows, summed);
  // In turns, so that a noisy moment meets both.
  const short: number[] = [];
  const long: number[] = [];
  const cpuFrom = server.cpuMs();
  for (let round = 0; round < 10; round += 1) {
    short.push(await chatTurns(server, 'short', 2));
    long.push(await chatTurns(server, 'long', 2));
  }
  const cpuMs = server.cpuMs() - cpuFrom;
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
    operations: 40,
    cpuMsEach: rounded(cpuMs / 40),
    turnP50Ms: longMs,
    besideShortChat: rounded(longMs / shortMs),
    historyPageP50Ms: percentile(pages, 50),
  };
}

/** Rows of earlier turns, a question and an answer in turn. */
async function fill({ tables }: BenchServer, sessionKey: string, rows: number, summed: boolean): Promise<void> {
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
  if (!summed) return;
  await tables.statement('update {realtime.chats} set summary = ?, summary_seq = ? where id = ?', [
    'They counted rows. '.repeat(100),
    session.next_seq + rows - 5,
    chatId,
  ]);
}
