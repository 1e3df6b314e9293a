import { randomBytes } from 'node:crypto';
import { isJsonObject, type JsonObject, MortiseError } from 'mortise/sdk';
import { checkedAnswer, keyed } from '../client-answers.js';
import { capabilityFor, requireCapability } from '../wire/capabilities.js';
import { member } from '../wire/params.js';
import type { Session } from './session.js';

/** Requests that run for a session, so that a notification can cancel them. */
export interface InFlight {
  /** Returns a function that removes the request. */
  add(session: string, idText: string, cancel: () => void): () => void;
  /** False when this process does not run such a request. */
  cancel(session: string, idText: string): boolean;
}

export function createInFlight(): InFlight {
  const running = new Map<string, () => void>();
  const keyOf = (session: string, idText: string) => `${session} ${idText}`;
  return {
    add(session, idText, cancel) {
      const key = keyOf(session, idText);
      running.set(key, cancel);
      return () => {
        if (running.get(key) === cancel) running.delete(key);
      };
    },
    cancel(session, idText) {
      const cancel = running.get(keyOf(session, idText));
      cancel?.();
      return cancel !== undefined;
    },
  };
}

/** Requests of the server that a session's client answers with a `POST`. */
export interface ClientRequests {
  /** @throws RpcFailure, MortiseError when the client cannot answer, refuses, or does not answer in time. */
  ask(session: Session, send: (json: string) => void, question: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  /** False when no request of this process has this id and session. */
  settle(session: string, id: string, body: JsonObject): boolean;
  /** Requests without an answer. */
  open(): readonly { readonly session: string; readonly id: string }[];
  drop(session: string): void;
  /** Rejects all open requests. */
  close(): void;
}

/** Milliseconds after which an unanswered request fails; a person may have to answer it. */
export const answerTimeoutMs = 600_000;

const ownId = /^srv-[0-9a-f]{24}$/;

/** Whether an id has the form of a request that this endpoint sends, on any replica. */
export function isOwnRequestId(id: string): boolean {
  return ownId.test(id);
}

interface Waiting {
  readonly session: string;
  resolve(body: JsonObject): void;
  reject(error: Error): void;
}

export function createClientRequests(): ClientRequests {
  const waiting = new Map<string, Waiting>();
  return {
    async ask(session, send, question, signal) {
      const { request } = keyed(question, 0);
      requireCapability(session.capabilities, capabilityFor(request));
      const id = `srv-${randomBytes(12).toString('hex')}`;
      const body = await new Promise<JsonObject>((resolve, reject) => {
        const fail = (error: Error) => {
          cleanUp();
          reject(error);
        };
        const onAbort = () => fail(new MortiseError('TOOL_EXECUTION_FAILED', 'The request was cancelled.'));
        const timer = setTimeout(
          () => fail(new MortiseError('TOOL_TIMEOUT', 'The client did not answer.')),
          answerTimeoutMs,
        );
        const cleanUp = () => {
          clearTimeout(timer);
          waiting.delete(id);
          signal.removeEventListener('abort', onAbort);
        };
        const succeed = (answer: JsonObject) => {
          cleanUp();
          resolve(answer);
        };
        waiting.set(id, { session: session.id, resolve: succeed, reject: fail });
        signal.addEventListener('abort', onAbort, { once: true });
        send(JSON.stringify({ jsonrpc: '2.0', id, ...request }));
      });
      const error = member(body, 'error');
      if (isJsonObject(error)) {
        throw new MortiseError('TOOL_EXECUTION_FAILED', 'The client refused the request for input.');
      }
      return checkedAnswer(request, member(body, 'result'));
    },
    settle(session, id, body) {
      const one = waiting.get(id);
      if (one?.session !== session) return false;
      one.resolve(body);
      return true;
    },
    open: () => [...waiting].map(([id, { session }]) => ({ session, id })),
    drop(session) {
      for (const one of waiting.values()) {
        if (one.session === session) one.reject(new MortiseError('TOOL_EXECUTION_FAILED', 'The session has ended.'));
      }
    },
    close() {
      for (const one of waiting.values()) {
        one.reject(new MortiseError('TOOL_EXECUTION_FAILED', 'The server is stopping.'));
      }
    },
  };
}
