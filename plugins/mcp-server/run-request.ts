import type { RouteContext, RouteRequest } from 'mortise/sdk';
import { errorReply, resultReply } from './envelope.js';
import { failureOf } from './failure-of.js';
import type { Caller, MethodCall, Outbound } from './method.js';
import { methodNamed, methodNames } from './methods/table.js';
import type { Finished } from './reply.js';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import { RpcFailure, shown } from './wire/failure.js';
import { isObject, member } from './wire/json.js';
import { metaOf, type RpcRequest } from './wire/message.js';
import { header, headerNames, metaNames } from './wire/names.js';
import { checkStatelessRequest } from './wire/stateless-headers.js';
import { traceOf } from './wire/trace.js';
import { bareVersion, type Era, statelessVersion } from './wire/versions.js';

/** One request and what surrounds it. */
export interface RequestFrame {
  readonly server: McpServer;
  readonly request: RpcRequest;
  readonly era: Era;
  readonly session: Session | undefined;
  readonly http: RouteRequest;
  readonly ctx: RouteContext;
}

/** The version whose rules a request is served by. */
export function versionOf(era: Era, session: Session | undefined, { headers }: RouteRequest): string {
  if (era === 'stateless') return statelessVersion;
  return header(headers, headerNames.version) ?? session?.version ?? bareVersion;
}

/** Runs one request to its answer; every failure becomes one. */
export async function runRequest(frame: RequestFrame, outbound: Outbound, signal: AbortSignal): Promise<Finished> {
  const { server, request, era, session, http, ctx } = frame;
  const envelope = { idText: request.idText, era, correlationId: ctx.correlationId };
  try {
    if (era === 'stateless') checkStatelessRequest(request, http.headers);
    const method = methodNamed(request.method, era, server.features);
    if (!method) throw unknownMethod(server, request.method, era);
    const meta = metaOf(request.params);
    const declared = era === 'session' ? session?.capabilities : member(meta, metaNames.clientCapabilities);
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
      era,
      version: versionOf(era, session, http),
      headers: http.headers,
      session,
      capabilities: isObject(declared) ? declared : undefined,
      caller,
      outbound,
    };
    return resultReply(await method.run(call), server.version, envelope);
  } catch (error) {
    return errorReply(failureOf(error, server.host.log, ctx.correlationId), envelope);
  }
}

function unknownMethod(server: McpServer, method: string, era: Era): RpcFailure {
  return new RpcFailure('METHOD_NOT_FOUND', `There is no method "${shown(method)}".`, {
    details: { method: shown(method), available_methods: methodNames(era, server.features()) },
  });
}
