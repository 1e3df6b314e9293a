import type { RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { answerMessage, sessionOf } from './answer-message.js';
import { answerPosted, usableSession } from './answer-posted.js';
import { answerBatch } from './batch.js';
import { getStream } from './event-streams.js';
import { answerLegacy } from './legacy.js';
import { accepted } from './reply.js';
import { errorReply, invalidFormat, jsonReply, refusal } from './responses.js';
import type { McpServer } from './server.js';
import { isOwnSessionId } from './sessions/session.js';
import { addressParameter, isConnectionId } from './sse-connections.js';
import { RpcFailure } from './wire/failure.js';
import { readBody } from './wire/message.js';
import { hasPrimingEvent, header, headerNames, isSessionVersion } from './wire/protocol.js';

/** Handles every request under `/mcp` that the host admits. */
export function handle(
  server: McpServer,
  request: RouteRequest,
  ctx: RouteContext,
): RouteResponse | Promise<RouteResponse> {
  if (request.method === 'POST') return post(server, request, ctx);
  const version = header(request.headers, headerNames.version);
  if (version !== undefined && !isSessionVersion(version)) {
    const text = 'This protocol version uses POST alone.';
    return refusal(405, 'METHOD_NOT_ALLOWED', text, ctx.correlationId, { allow: 'POST, OPTIONS' });
  }
  return request.method === 'DELETE' ? endSession(server, request, ctx) : openStream(server, request, ctx);
}

function post(server: McpServer, request: RouteRequest, ctx: RouteContext): RouteResponse | Promise<RouteResponse> {
  const body = readBody(typeof request.body === 'string' ? request.body : Buffer.from(request.rawBody).toString());
  const { correlationId } = ctx;
  const connection = request.query.get(addressParameter);
  if (isConnectionId(connection)) return answerPosted(server, connection, body, request, ctx);
  switch (body.form) {
    case 'json-rpc':
      return answerMessage(server, body.message, body.text, request, ctx);
    case 'batch':
      return answerBatch(server, body.messages, request, ctx);
    case 'legacy':
      return answerLegacy(server, body.body, ctx);
    case 'unparsable': {
      const details = { parse_error: body.parseError };
      const failure = new RpcFailure('PARSE_ERROR', 'The body could not be read.', { details });
      return jsonReply(errorReply(failure, { idText: undefined, mode: 'session', correlationId }));
    }
    case 'too-deep':
      return refusal(400, 'INVALID_REQUEST', 'The body is nested too deeply.', correlationId);
    case 'scalar':
      return refusal(400, 'INVALID_REQUEST', 'The body must be a JSON object.', correlationId);
    case 'unknown':
      return invalidFormat(body.why, correlationId);
  }
}

/**
 * A `GET` without a session opens a stream of the HTTP+SSE transport. Clients of later transports that do so ignore its
 * first event. A protocol version tells the two apart no better: some HTTP+SSE clients send one.
 */
async function openConnection(server: McpServer, { headers }: RouteRequest, ctx: RouteContext): Promise<RouteResponse> {
  const last = header(headers, headerNames.lastEvent);
  const session = await usableSession(server, isOwnSessionId(last) ? last : undefined, ctx.principal.id);
  const stream = server.connections.open(ctx.principal.id, session?.id, ctx.signal);
  if (stream) return eventStream(stream);
  const text = 'Too many event streams are open. Try again later.';
  return refusal(503, 'TOO_MANY_STREAMS', text, ctx.correlationId, { 'retry-after': '10' });
}

/** Methods of a session for which `GET` opens no stream. */
const allow = 'POST, DELETE, OPTIONS';

/** `GET` (and `HEAD`): a stream of messages that are not responses to requests of the client. */
async function openStream(server: McpServer, request: RouteRequest, ctx: RouteContext): Promise<RouteResponse> {
  if (!accepted(request.headers.accept).stream) {
    const text = 'GET opens an event stream: accept text/event-stream.';
    return refusal(405, 'METHOD_NOT_ALLOWED', text, ctx.correlationId, { allow });
  }
  try {
    const session = await sessionOf(server, request, ctx);
    if (!session) return await openConnection(server, request, ctx);
    const last = header(request.headers, headerNames.lastEvent);
    const place = last === undefined ? undefined : server.streams.place(session.id, last);
    if (place?.isEnd) {
      // The stream of a cancelled request ends without a response: with 405 its client stops coming back for one.
      return refusal(405, 'METHOD_NOT_ALLOWED', 'This stream has ended.', ctx.correlationId, { allow });
    }
    if (place) return eventStream(server.streams.read(session.id, place.stream, place.after));
    const stream = server.streams.read(session.id, getStream, Number.POSITIVE_INFINITY);
    if (hasPrimingEvent(session.version)) server.streams.prime(session.id, getStream);
    return eventStream(stream);
  } catch (error) {
    return failed(error, ctx);
  }
}

function eventStream(stream: AsyncIterable<string>): RouteResponse {
  return { status: 200, sse: true, headers: { 'x-accel-buffering': 'no' }, stream };
}

async function endSession(server: McpServer, { headers }: RouteRequest, ctx: RouteContext): Promise<RouteResponse> {
  const id = header(headers, headerNames.session);
  if (!isOwnSessionId(id)) {
    return refusal(400, 'INVALID_REQUEST', 'Header Mcp-Session-Id names the session to end.', ctx.correlationId);
  }
  try {
    await server.sessions.end(await server.sessions.use(id, ctx.principal.id));
    return { status: 204 };
  } catch (error) {
    return failed(error, ctx);
  }
}

/** Clients of `GET` and `DELETE` read the status only, so a failure that JSON-RPC sends with 200 gets 503 here. */
function failed(error: unknown, { correlationId }: RouteContext): RouteResponse {
  if (!(error instanceof RpcFailure)) throw error;
  const answer = errorReply(error, { idText: undefined, mode: 'session', correlationId });
  return jsonReply({ ...answer, status: answer.status === 200 ? 503 : answer.status });
}
