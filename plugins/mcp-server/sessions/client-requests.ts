import { randomBytes } from 'node:crypto';
import { MortiseError } from 'mortise/sdk';
import { checkedAnswer } from '../client-answers.js';
import { keyed } from '../input-rounds.js';
import { capabilityFor, demand } from '../wire/capabilities.js';
import { isObject, type JsonObject, member } from '../wire/json.js';
import type { Session } from './session.js';

/** Requests of the server that a session's client answers with a `POST` of its own. */
export interface ClientRequests {
  /** @throws RpcFailure, MortiseError when the client cannot, will not, or takes too long. */
  ask(session: Session, send: (json: string) => void, question: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  /** False when nobody here waits for it. */
  settle(session: string, id: string, body: JsonObject): boolean;
  /** Requests that have no answer yet. */
  open(): readonly { readonly session: string; readonly id: string }[];
  drop(session: string): void;
  /** Gives up all of them. */
  close(): void;
}

/** Milliseconds a person may take. */
export const patienceMs = 600_000;

const ownId = /^srv-[0-9a-f]{24}$/;

/** Whether an answer names a request as this endpoint, on whatever replica, makes them. */
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
      demand(session.capabilities, capabilityFor(request));
      const id = `srv-${randomBytes(12).toString('hex')}`;
      const body = await new Promise<JsonObject>((resolve, reject) => {
        const fail = (error: Error) => {
          close();
          reject(error);
        };
        const leave = () => fail(new MortiseError('TOOL_EXECUTION_FAILED', 'The request was cancelled.'));
        const timer = setTimeout(
          () => fail(new MortiseError('TOOL_TIMEOUT', 'The client did not answer.')),
          patienceMs,
        );
        const close = () => {
          clearTimeout(timer);
          waiting.delete(id);
          signal.removeEventListener('abort', leave);
        };
        const done = (answer: JsonObject) => {
          close();
          resolve(answer);
        };
        waiting.set(id, { session: session.id, resolve: done, reject: fail });
        signal.addEventListener('abort', leave, { once: true });
        send(JSON.stringify({ jsonrpc: '2.0', id, ...request }));
      });
      const error = member(body, 'error');
      if (isObject(error)) throw new MortiseError('TOOL_EXECUTION_FAILED', 'The client refused the request for input.');
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
        if (one.session === session) one.reject(new MortiseError('TOOL_EXECUTION_FAILED', 'The session is over.'));
      }
    },
    close() {
      for (const one of waiting.values()) one.reject(new MortiseError('TOOL_EXECUTION_FAILED', 'The server stops.'));
    },
  };
}
