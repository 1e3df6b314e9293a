import { type Database, isJsonObject, type JsonObject, type Logger } from 'mortise/sdk';
import type { Replicas } from '../replicas.js';
import type { Storage } from '../storage.js';
import { answerTimeoutMs, type ClientRequests, isOwnRequestId } from './open-requests.js';

/**
 * Passes on answers of clients that reached another replica than the one that asked. They are rows, because they can
 * be longer than a notification.
 */
export interface AnswerRelay {
  /** Stores an answer for the replica that asked. An answer that no replica can be waiting for is dropped. */
  forward(session: string, request: string, body: JsonObject): Promise<void>;
  /** Delivers a stored answer if this process sent the request. Failures are logged. */
  deliver(session: string, request: string): Promise<void>;
  /** Delivers stored answers whose signal was lost. */
  poll(): Promise<void>;
  /** Deletes answers that were not delivered in time. */
  sweep(): Promise<void>;
}

interface AnswerRelayDeps {
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly requests: ClientRequests;
  readonly log: Logger;
  now(): number;
}

export function createAnswerRelay({ storage, replicas, requests, log, now }: AnswerRelayDeps): AnswerRelay {
  const take = async (session: string, request: string): Promise<void> => {
    const text = await takeAnswer(await storage.database(), session, request);
    const body: unknown = text === undefined ? undefined : JSON.parse(text);
    if (isJsonObject(body)) requests.settle(session, request, body);
  };
  return {
    async forward(session, request, body) {
      if (!isOwnRequestId(request)) return;
      const stored = await storage.withDatabase(async (database) => {
        // SQLite has one process: the one that asked no longer exists.
        if (database.dialect === 'sqlite') return false;
        await insertAnswer(database, session, request, JSON.stringify(body), now());
        return true;
      });
      if (stored) await replicas.notify({ kind: 'answer', id: session, request });
    },
    async deliver(session, request) {
      if (!requests.open().some((one) => one.session === session && one.id === request)) return;
      try {
        await take(session, request);
      } catch (error) {
        log.warn({ err: error }, 'An answer that another replica received could not be read.');
      }
    },
    async poll() {
      const open = requests.open();
      if (open.length === 0 || (await storage.database()).dialect === 'sqlite') return;
      for (const { session, id } of open) await take(session, id);
    },
    sweep: async () => deleteAnswersBefore(await storage.database(), now() - answerTimeoutMs),
  };
}

/** Stored answers of one session, so that a client that invents ids cannot fill the database. */
const maxPerSession = 100;

async function insertAnswer(
  database: Database,
  session: string,
  request: string,
  body: string,
  now: number,
): Promise<void> {
  const count = 'select count(*) from {logbook.mcp_answers} where session_id = ?';
  await database.statement(
    `insert into {logbook.mcp_answers} (session_id, request_id, body, created_at)
       select ?, ?, ?, ? where (${count}) < ${maxPerSession}
     on conflict (session_id, request_id) do nothing`,
    [session, request, body, now, session],
  );
}

/** Deletes and returns an answer, so that only one process gets it. */
async function takeAnswer(database: Database, session: string, request: string): Promise<string | undefined> {
  const { rows } = await database.statement<{ body: string }>(
    'delete from {logbook.mcp_answers} where session_id = ? and request_id = ? returning body',
    [session, request],
  );
  return rows[0]?.body;
}

async function deleteAnswersBefore(database: Database, time: number): Promise<void> {
  await database.statement('delete from {logbook.mcp_answers} where created_at < ?', [time]);
}
