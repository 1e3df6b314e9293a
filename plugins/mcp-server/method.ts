import type { CallContext, JsonObject, Principal } from 'mortise/sdk';
import type { Features } from './features.js';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import type { RpcRequest } from './wire/message.js';
import type { Headers, Mode } from './wire/protocol.js';

/** The caller of a request in any form. */
export interface Caller {
  readonly principal: Principal;
  readonly requestId: string;
  readonly correlationId: string;
  readonly trace: CallContext['trace'];
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal;
}

/** Sends messages to the client before the response. */
export interface Outbound {
  /** False: the client reads only the response, and messages are dropped. */
  readonly open: boolean;
  send(json: string): void;
  /** Ends the connection; the client reconnects for what follows. Absent where it cannot. */
  readonly release?: (() => void) | undefined;
}

/** One JSON-RPC request and its context. */
export interface MethodCall {
  readonly server: McpServer;
  readonly request: RpcRequest;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly mode: Mode;
  /** Effective protocol version. */
  readonly version: string;
  readonly headers: Headers;
  readonly session: Session | undefined;
  /** Declared by the session or the request; undefined for a call that declared none. */
  readonly capabilities: JsonObject | undefined;
  readonly caller: Caller;
  readonly outbound: Outbound;
}

export interface MethodResult {
  /** Members of the result as JSON text without braces. */
  readonly members: string;
  readonly resultType?: 'complete' | 'input_required' | 'task';
  /** Further members of `_meta`. */
  readonly meta?: JsonObject;
  /** An empty acknowledgement, which is exactly `{}` in session mode. */
  readonly plain?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Method {
  readonly modes: readonly Mode[];
  /** The feature without which the method does not exist. */
  readonly needs?: keyof Features;
  run(call: MethodCall): MethodResult | Promise<MethodResult>;
}

export const emptyResult: MethodResult = { members: '', plain: true };

/** How long a stateless client may cache a result, in milliseconds, and for whom; empty in session mode. */
export function cachingMembers({ mode, server }: MethodCall, ttlMs: number): string {
  if (mode === 'session') return '';
  return `,"ttlMs":${ttlMs},"cacheScope":"${server.http.keyed ? 'private' : 'public'}"`;
}
