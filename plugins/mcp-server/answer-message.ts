import type { JsonObject, RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import type { Outbound } from './method.js';
import { type Accepted, accepted, reply } from './reply.js';
import { errorReply, type HttpReply, jsonReply } from './responses.js';
import { type RequestFrame, runRequest, versionOf } from './run-request.js';
import type { McpServer } from './server.js';
import { isOwnSessionId, type Session } from './sessions/session.js';
import { errorObject, RpcFailure } from './wire/failure.js';
import { errorText, type Message, metaOf, modeOf, type RpcRequest, readMessage } from './wire/message.js';
import { member } from './wire/params.js';
import { header, headerNames, isSessionVersion, type Mode } from './wire/protocol.js';

/** Answers one JSON-RPC message. */
export function answerMessage(
  server: McpServer,
  object: JsonObject,
  text: string,
  http: RouteRequest,
  ctx: RouteContext,
): RouteResponse | Promise<RouteResponse> {
  const message = readMessage(object, text);
  if (message.kind === 'invalid') return jsonReply(invalidReply(message, ctx.correlationId));
  const mode = messageMode(message, http);
  // A client that starts again may still send the id of a session that has ended.
  const isInitialize = message.kind === 'request' && message.method === 'initialize';
  const inSession = mode === 'session' && !isInitialize && isOwnSessionId(header(http.headers, headerNames.session));
  if (message.kind === 'request' && !inSession) {
    return answerRequest({ server, request: message, mode, session: undefined, http, ctx });
  }
  return answerInSession(server, message, mode, http, ctx);
}

async function answerInSession(
  server: McpServer,
  message: Exclude<Message, { kind: 'invalid' }>,
  mode: Mode,
  http: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const idText = message.kind === 'request' ? message.idText : undefined;
  try {
    const session = mode === 'session' ? await sessionOf(server, http, ctx) : undefined;
    if (message.kind === 'request') return await answerRequest({ server, request: message, mode, session, http, ctx });
    if (message.kind === 'notification') await acceptNotification(server, session, message.method, message.params);
    else await acceptResponse(server, session, message.id, message.body);
    return { status: 202 };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return jsonReply(errorReply(error, { idText, mode, correlationId: ctx.correlationId }));
  }
}

/** A missing `method` also gets a top-level `ok: false`, for callers of the legacy form. */
export function invalidReply(message: Extract<Message, { kind: 'invalid' }>, correlationId: string): HttpReply {
  const failure = new RpcFailure('INVALID_REQUEST', message.why);
  const extra = message.noMethod ? { ok: false } : undefined;
  return { status: 400, text: errorText(message.idText, errorObject(failure, 'session', correlationId), extra) };
}

export function messageMode(message: Message, { headers }: RouteRequest): Mode {
  const headerVersion = header(headers, headerNames.version);
  if (message.kind === 'request' || message.kind === 'notification') {
    const hasSession = isOwnSessionId(header(headers, headerNames.session));
    return modeOf({ method: message.method, meta: metaOf(message.params), headerVersion, hasSession });
  }
  return headerVersion !== undefined && !isSessionVersion(headerVersion) ? 'stateless' : 'session';
}

/** The session that the header names; undefined when the header is absent or only a label. @throws RpcFailure */
export async function sessionOf(
  server: McpServer,
  { headers }: RouteRequest,
  ctx: RouteContext,
): Promise<Session | undefined> {
  const id = header(headers, headerNames.session);
  return isOwnSessionId(id) ? server.sessions.use(id, ctx.principal.id) : undefined;
}

function answerRequest(frame: RequestFrame): Promise<RouteResponse> {
  const { server, request, mode, session, http, ctx } = frame;
  return reply({
    accept: acceptedBy(request, http),
    version: versionOf(mode, session, http),
    session,
    streams: server.streams,
    run: (outbound, resumable) =>
      session ? runInSession(frame, session, outbound, resumable) : runRequest(frame, outbound, ctx.signal),
  });
}

/** A subscription always is a stream, whatever the client accepts; its refusal is JSON. */
function acceptedBy(request: RpcRequest, { headers }: RouteRequest): Accepted {
  if (request.method === 'subscriptions/listen') return { json: true, stream: true };
  return accepted(headers.accept);
}

async function runInSession(
  frame: RequestFrame,
  session: Session,
  outbound: Outbound,
  resumable: () => boolean,
): Promise<HttpReply> {
  const { server, request, ctx } = frame;
  const controller = new AbortController();
  // A client that can resume the stream has lost only its connection; while the server stops, it cannot resume it here.
  const onAbort = () => {
    if (!resumable() || server.http.draining) controller.abort(ctx.signal.reason);
  };
  ctx.signal.addEventListener('abort', onAbort, { once: true });
  const remove = request.idText && server.inFlight.add(session.id, request.idText, () => controller.abort());
  try {
    return await runRequest(frame, outbound, controller.signal);
  } finally {
    ctx.signal.removeEventListener('abort', onAbort);
    if (remove) remove();
  }
}

/** Handles a notification of the client; unknown ones are ignored. */
export async function acceptNotification(
  server: McpServer,
  session: Session | undefined,
  method: string,
  params: JsonObject,
): Promise<void> {
  if (method !== 'notifications/cancelled' || session === undefined) return;
  const request = JSON.stringify(member(params, 'requestId'));
  if (request === undefined || server.inFlight.cancel(session.id, request)) return;
  await server.replicas.notify({ kind: 'cancel', id: session.id, request });
}

/** Handles a client's answer to a request of the server. @throws RpcFailure outside a session. */
export async function acceptResponse(
  server: McpServer,
  session: Session | undefined,
  id: unknown,
  body: JsonObject,
): Promise<void> {
  if (session === undefined) {
    throw new RpcFailure('INVALID_REQUEST', 'A response is only accepted within a session.');
  }
  const request = String(id);
  if (!server.clientRequests.settle(session.id, request, body)) {
    await server.answerRelay.forward(session.id, request, body);
  }
}
