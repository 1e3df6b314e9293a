import type { Database } from 'mortise/sdk';

/** Answers of one session that may wait to be taken: a client that invents ids must not fill the database. */
const mostOfSession = 100;

export async function insertAnswer(
  database: Database,
  session: string,
  request: string,
  body: string,
  now: number,
): Promise<void> {
  const count = 'select count(*) from {logbook.mcp_answers} where session_id = ?';
  await database.statement(
    `insert into {logbook.mcp_answers} (session_id, request_id, body, created_at)
       select ?, ?, ?, ? where (${count}) < ${mostOfSession}
     on conflict (session_id, request_id) do nothing`,
    [session, request, body, now, session],
  );
}

/** Takes an answer away: one process gets it. */
export async function takeAnswer(database: Database, session: string, request: string): Promise<string | undefined> {
  const { rows } = await database.statement<{ body: string }>(
    'delete from {logbook.mcp_answers} where session_id = ? and request_id = ? returning body',
    [session, request],
  );
  return rows[0]?.body;
}

export async function deleteAnswersBefore(database: Database, time: number): Promise<void> {
  await database.statement('delete from {logbook.mcp_answers} where created_at < ?', [time]);
}
