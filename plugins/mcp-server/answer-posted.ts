import type { RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { acceptResponse, invalidReply } from './answer-message.js';
import type { Caller } from './method.js';
import { errorReply, invalidFormat, jsonReply, refusal } from './responses.js';
import { type RequestFrame, runRequest } from './run-request.js';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import type { RunningRequest, SseConnection } from './sse-connections.js';
import { RpcFailure } from './wire/failure.js';
import { type Body, type RpcRequest, readMessage } from './wire/message.js';
import { member } from './wire/params.js';
import { headerNames } from './wire/protocol.js';

/**
 * Accepts a message that was posted to the address of an HTTP+SSE connection. The `POST` is answered at once, because
 * such clients send one message after the other, and the response follows on the connection's stream.
 */
export async function answerPosted(
  server: McpServer,
  id: string,
  body: Body,
  http: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const { correlationId } = ctx;
  const connection = server.connections.find(id, ctx.principal.id);
  if (!connection) {
    const text = 'The stream of this address has ended. Open a new one with GET /mcp.';
    return refusal(404, 'SESSION_NOT_FOUND', text, correlationId);
  }
  if (body.form !== 'json-rpc') return invalidFormat('this address accepts one JSON-RPC message', correlationId);
  const message = readMessage(body.message, body.text);
  if (message.kind === 'invalid') return jsonReply(invalidReply(message, correlationId));
  try {
    const session = await usableSession(server, connection.session, connection.principal);
    if (message.kind === 'request') return startRequest(server, connection, session, message, http, ctx);
    if (message.kind === 'response') await acceptResponse(server, session, message.id, message.body);
    else if (message.method === 'notifications/cancelled') {
      connection.cancel(JSON.stringify(member(message.params, 'requestId')));
    }
    return { status: 202 };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return jsonReply(errorReply(error, { idText: undefined, mode: 'session', correlationId }));
  }
}

/** Clients of this transport do not start again when a session has ended: without it they are served as bare calls. */
export async function usableSession(
  server: McpServer,
  id: string | undefined,
  principal: string,
): Promise<Session | undefined> {
  return id === undefined ? undefined : server.sessions.use(id, principal).catch(() => undefined);
}

function startRequest(
  server: McpServer,
  connection: SseConnection,
  session: Session | undefined,
  request: RpcRequest,
  http: RouteRequest,
  ctx: RouteContext,
): RouteResponse {
  const { principal, requestId, correlationId, trace } = ctx;
  const running = connection.begin(request.idText);
  if (!running) {
    const text = 'Too many requests of this connection are running. Wait for their responses.';
    return refusal(429, 'RATE_LIMITED', text, correlationId, { 'retry-after': '1' });
  }
  const caller: Caller = { principal, requestId, correlationId, trace, signal: running.signal };
  void respond(connection, { server, request, mode: 'session', session, http, ctx: caller }, running);
  return { status: 202 };
}

/** Never rejects, as `runRequest` does not. */
async function respond(connection: SseConnection, frame: RequestFrame, running: RunningRequest): Promise<void> {
  const outbound = { open: true, send: connection.send };
  const { text, headers } = await runRequest(frame, outbound, running.signal);
  connection.session = headers?.[headerNames.session] ?? connection.session;
  // A message without an id is a notification, which gets no response.
  if (text !== undefined && frame.request.idText !== undefined && !running.cancelled) connection.send(text);
  running.end();
}
