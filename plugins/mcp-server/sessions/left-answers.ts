import type { Logger } from 'mortise/sdk';
import type { Replicas } from '../replicas.js';
import type { Storage } from '../storage.js';
import { isObject, type JsonObject } from '../wire/json.js';
import * as rows from './answer-rows.js';
import { type ClientRequests, isOwnRequestId, patienceMs } from './client-requests.js';

/** Answers of clients that reached another replica than the one that asked: rows, because they may be long. */
export interface LeftAnswers {
  /** Keeps an answer for the replica that asked. One that nobody can be waiting for is dropped. */
  leave(session: string, request: string, body: JsonObject): Promise<void>;
  /** An answer was left: hands it out if the request is one of this process. Failures are logged. */
  deliver(session: string, request: string): Promise<void>;
  /** Hands out answers of which no hint arrived. */
  poll(): Promise<void>;
  /** Removes what nobody took. */
  sweep(): Promise<void>;
}

export interface LeftAnswersPorts {
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly requests: ClientRequests;
  readonly log: Logger;
  now(): number;
}

export function createLeftAnswers({ storage, replicas, requests, log, now }: LeftAnswersPorts): LeftAnswers {
  const take = async (session: string, request: string): Promise<void> => {
    const database = await storage.database();
    const text = await rows.takeAnswer(database, session, request);
    const body: unknown = text === undefined ? undefined : JSON.parse(text);
    if (isObject(body)) requests.settle(session, request, body);
  };
  return {
    async leave(session, request, body) {
      if (!isOwnRequestId(request)) return;
      try {
        const database = await storage.database();
        // A file has one process: whoever asked is gone.
        if (database.dialect === 'sqlite') return;
        await rows.insertAnswer(database, session, request, JSON.stringify(body), now());
      } catch (error) {
        throw storage.explain(error);
      }
      await replicas.tell({ kind: 'answer', id: session, request });
    },
    async deliver(session, request) {
      if (!requests.open().some((one) => one.session === session && one.id === request)) return;
      try {
        await take(session, request);
      } catch (error) {
        log.warn({ err: error }, 'An answer of a client that another replica took could not be read.');
      }
    },
    async poll() {
      const open = requests.open();
      if (open.length === 0 || (await storage.database()).dialect === 'sqlite') return;
      for (const { session, id } of open) await take(session, id);
    },
    sweep: async () => rows.deleteAnswersBefore(await storage.database(), now() - patienceMs),
  };
}
