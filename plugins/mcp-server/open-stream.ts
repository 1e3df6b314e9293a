import type { RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { sessionOf } from './answer-message.js';
import { failedMethod } from './failed-method.js';
import { refusal } from './refusal.js';
import type { McpServer } from './server.js';
import { standingStream } from './sessions/session-streams.js';
import { accepted } from './wire/accept.js';
import { header, headerNames } from './wire/names.js';
import { hasPrimingEvent } from './wire/versions.js';

/** `GET`: the stream on which a session hears what is not the answer to a request of its own. */
export async function openStream(server: McpServer, request: RouteRequest, ctx: RouteContext): Promise<RouteResponse> {
  if (!accepted(request.headers.accept).stream) {
    const text = 'GET opens an event stream: accept text/event-stream.';
    return refusal(405, 'METHOD_NOT_ALLOWED', text, ctx.correlationId, { allow: 'POST, DELETE, OPTIONS' });
  }
  try {
    const session = await sessionOf(server, request, ctx);
    if (!session) return sse(server.anonymous.open());
    const last = header(request.headers, headerNames.lastEvent);
    const place = last === undefined ? undefined : server.streams.place(session.id, last);
    if (place) return sse(server.streams.read(session.id, place.stream, place.after));
    const stream = server.streams.read(session.id, standingStream, Number.POSITIVE_INFINITY);
    if (hasPrimingEvent(session.version)) server.streams.prime(session.id, standingStream);
    return sse(stream);
  } catch (error) {
    return failedMethod(error, ctx);
  }
}

function sse(stream: AsyncIterable<string>): RouteResponse {
  return { status: 200, sse: true, headers: { 'x-accel-buffering': 'no' }, stream };
}
