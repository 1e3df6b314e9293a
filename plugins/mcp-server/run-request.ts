import { type CallContext, isJsonObject, type JsonObject, type RouteRequest } from 'mortise/sdk';
import { failureOf } from './failure-of.js';
import type { Caller, MethodCall, Outbound } from './method.js';
import { methodNamed, methodNames } from './methods/table.js';
import { errorReply, type HttpReply, resultReply } from './responses.js';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import { RpcFailure, shown } from './wire/failure.js';
import { metaOf, type RpcRequest } from './wire/message.js';
import { member } from './wire/params.js';
import {
  bareVersion,
  type Headers,
  header,
  headerNames,
  type Mode,
  metaNames,
  statelessVersion,
} from './wire/protocol.js';
import { checkStatelessRequest } from './wire/stateless-headers.js';

/** One request and its surroundings. */
export interface RequestFrame {
  readonly server: McpServer;
  readonly request: RpcRequest;
  readonly mode: Mode;
  readonly session: Session | undefined;
  readonly http: RouteRequest;
  readonly ctx: Caller;
}

/** The protocol version by which a request is handled. */
export function versionOf(mode: Mode, session: Session | undefined, { headers }: RouteRequest): string {
  if (mode === 'stateless') return statelessVersion;
  return header(headers, headerNames.version) ?? session?.version ?? bareVersion;
}

/** Runs one request. Never rejects: every failure becomes an error response. */
export async function runRequest(frame: RequestFrame, outbound: Outbound, signal: AbortSignal): Promise<HttpReply> {
  const { server, request, mode, session, http, ctx } = frame;
  const envelope = { idText: request.idText, mode, correlationId: ctx.correlationId };
  try {
    if (mode === 'stateless') checkStatelessRequest(request, http.headers);
    const method = methodNamed(request.method, mode, server.features);
    if (!method) throw unknownMethod(server, request.method, mode);
    const meta = metaOf(request.params);
    const declared = mode === 'session' ? session?.capabilities : member(meta, metaNames.clientCapabilities);
    const caller: Caller = {
      principal: ctx.principal,
      requestId: ctx.requestId,
      correlationId: ctx.correlationId,
      trace: traceOf(http.headers, meta) ?? ctx.trace,
      signal,
    };
    const call: MethodCall = {
      server,
      request,
      params: request.params,
      meta,
      mode,
      version: versionOf(mode, session, http),
      headers: http.headers,
      session,
      capabilities: isJsonObject(declared) ? declared : undefined,
      caller,
      outbound,
    };
    return resultReply(await method.run(call), server.version, envelope);
  } catch (error) {
    return errorReply(failureOf(error, server.host.log, ctx.correlationId), envelope);
  }
}

function unknownMethod(server: McpServer, method: string, mode: Mode): RpcFailure {
  return new RpcFailure('METHOD_NOT_FOUND', `There is no method "${shown(method)}".`, {
    details: { method: shown(method), available_methods: methodNames(mode, server.features()) },
  });
}

const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The trace of `_meta`; undefined when there is a header, which the host has read. */
export function traceOf(headers: Headers, meta: JsonObject): CallContext['trace'] | undefined {
  const text = member(meta, 'traceparent');
  if (headers.traceparent !== undefined || typeof text !== 'string') return undefined;
  const [, traceId, spanId, flags] = traceparent.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
