import type { Principal, TraceContext } from 'mortise/sdk';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import type { JsonObject } from './wire/json.js';
import type { RpcRequest } from './wire/message.js';
import type { Headers } from './wire/names.js';
import type { Era } from './wire/versions.js';

/** Who calls, however the request came in. */
export interface Caller {
  readonly principal: Principal;
  readonly requestId: string;
  readonly correlationId: string;
  readonly trace: TraceContext;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** The way back to the client before the answer. */
export interface Outbound {
  /** False: the client reads nothing but the answer, and what is sent is dropped. */
  readonly open: boolean;
  send(json: string): void;
}

/** One JSON-RPC request with all that is known about it. */
export interface MethodCall {
  readonly server: McpServer;
  readonly request: RpcRequest;
  readonly params: JsonObject;
  readonly meta: JsonObject;
  readonly era: Era;
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
  /** An empty acknowledgement stays `{}` between sessions. */
  readonly plain?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What plugins contribute beside tools; decides which methods exist. */
export interface Features {
  readonly resources: boolean;
  readonly subscriptions: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  readonly logging: boolean;
  readonly tasks: boolean;
}

export interface Method {
  readonly eras: readonly Era[];
  /** Absent: always there. */
  readonly needs?: keyof Features;
  run(call: MethodCall): MethodResult | Promise<MethodResult>;
}

export const emptyResult: MethodResult = { members: '', plain: true };
