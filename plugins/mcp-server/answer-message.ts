import type { RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { errorReply } from './envelope.js';
import { acceptNotification, acceptResponse } from './incoming.js';
import type { Outbound } from './method.js';
import { type Finished, jsonReply, reply } from './reply.js';
import { type RequestFrame, runRequest, versionOf } from './run-request.js';
import type { McpServer } from './server.js';
import { isOwnSessionId, type Session } from './sessions/session.js';
import { type Accepted, accepted } from './wire/accept.js';
import { eraOf } from './wire/era.js';
import { errorObject, RpcFailure } from './wire/failure.js';
import type { JsonObject } from './wire/json.js';
import { errorText, type Message, metaOf, type RpcRequest, readMessage } from './wire/message.js';
import { header, headerNames } from './wire/names.js';
import { type Era, isSessionVersion } from './wire/versions.js';

/** One JSON-RPC message. */
export function answerMessage(
  server: McpServer,
  object: JsonObject,
  text: string,
  http: RouteRequest,
  ctx: RouteContext,
): RouteResponse | Promise<RouteResponse> {
  const message = readMessage(object, text);
  if (message.kind === 'invalid') return jsonReply(invalidReply(message, ctx.correlationId));
  const era = messageEra(message, http);
  const inSession = era === 'session' && !begins(message) && isOwnSessionId(header(http.headers, headerNames.session));
  if (message.kind === 'request' && !inSession) {
    return answerRequest({ server, request: message, era, session: undefined, http, ctx });
  }
  return answerInSession(server, message, era, http, ctx);
}

async function answerInSession(
  server: McpServer,
  message: Exclude<Message, { kind: 'invalid' }>,
  era: Era,
  http: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const idText = message.kind === 'request' ? message.idText : undefined;
  try {
    const session = era === 'session' ? await sessionOf(server, http, ctx) : undefined;
    if (message.kind === 'request') return await answerRequest({ server, request: message, era, session, http, ctx });
    if (message.kind === 'notification') await acceptNotification(server, session, message.method, message.params);
    else await acceptResponse(server, session, message.id, message.body);
    return { status: 202 };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return jsonReply(errorReply(error, { idText, era, correlationId: ctx.correlationId }));
  }
}

/** Without a method there is not even a request to speak of: `ok` tells callers of the older form. */
export function invalidReply(message: Extract<Message, { kind: 'invalid' }>, correlationId: string) {
  const error = errorObject(new RpcFailure('INVALID_REQUEST', message.why), 'session', correlationId);
  return { status: 400, text: errorText(message.idText, error, message.noMethod ? { ok: false } : undefined) };
}

export function messageEra(message: Message, { headers }: RouteRequest): Era {
  const headerVersion = header(headers, headerNames.version);
  if (message.kind === 'request' || message.kind === 'notification') {
    const hasSession = isOwnSessionId(header(headers, headerNames.session));
    return eraOf({ method: message.method, meta: metaOf(message.params), headerVersion, hasSession });
  }
  return headerVersion !== undefined && !isSessionVersion(headerVersion) ? 'stateless' : 'session';
}

/** The session that the header names; a label of the client's own is none. @throws RpcFailure */
export async function sessionOf(
  server: McpServer,
  { headers }: RouteRequest,
  ctx: RouteContext,
): Promise<Session | undefined> {
  const id = header(headers, headerNames.session);
  return isOwnSessionId(id) ? server.sessions.use(id, ctx.principal.id) : undefined;
}

/** A client that begins anew may still send the id of a session that is over. */
function begins(message: Message): boolean {
  return message.kind === 'request' && message.method === 'initialize';
}

function answerRequest(frame: RequestFrame): Promise<RouteResponse> {
  const { server, request, era, session, http, ctx } = frame;
  return reply({
    accept: acceptedBy(request, http),
    version: versionOf(era, session, http),
    session,
    streams: server.streams,
    run: (outbound, lasting) =>
      session ? runInSession(frame, session, outbound, lasting) : runRequest(frame, outbound, ctx.signal),
  });
}

async function runInSession(
  frame: RequestFrame,
  session: Session,
  outbound: Outbound,
  lasting: () => boolean,
): Promise<Finished> {
  const { server, request, ctx } = frame;
  const controller = new AbortController();
  // A client that can come back to the stream has only lost its connection.
  const left = () => {
    if (!lasting()) controller.abort(ctx.signal.reason);
  };
  ctx.signal.addEventListener('abort', left, { once: true });
  const forget = request.idText && server.inFlight.add(session.id, request.idText, () => controller.abort());
  try {
    return await runRequest(frame, outbound, controller.signal);
  } finally {
    ctx.signal.removeEventListener('abort', left);
    if (forget) forget();
  }
}

/** A subscription is a stream whatever the client accepts; a refused one is plain JSON. */
function acceptedBy(request: RpcRequest, { headers }: RouteRequest): Accepted {
  if (request.method === 'subscriptions/listen') return { json: true, stream: true };
  return accepted(headers.accept);
}
