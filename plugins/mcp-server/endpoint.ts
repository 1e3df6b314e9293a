import type { RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { answerMessage } from './answer-message.js';
import { answerBatch } from './batch.js';
import { errorReply } from './envelope.js';
import { failedMethod } from './failed-method.js';
import { answerLegacy } from './legacy.js';
import { openStream } from './open-stream.js';
import { refusal, unknownBody } from './refusal.js';
import { jsonReply } from './reply.js';
import type { McpServer } from './server.js';
import { isOwnSessionId } from './sessions/session.js';
import { readBody } from './wire/body-form.js';
import { RpcFailure } from './wire/failure.js';
import { header, headerNames } from './wire/names.js';
import { isSessionVersion } from './wire/versions.js';

/** Everything under `/mcp` that the host lets through. */
export function handle(
  server: McpServer,
  request: RouteRequest,
  ctx: RouteContext,
): RouteResponse | Promise<RouteResponse> {
  switch (request.method) {
    case 'POST':
      return post(server, request, ctx);
    case 'GET':
    case 'HEAD':
      return statelessClient(request) ? notHere(ctx) : openStream(server, request, ctx);
    default:
      return statelessClient(request) ? notHere(ctx) : endSession(server, request, ctx);
  }
}

/** The stateless revision knows `POST` alone. */
function statelessClient({ headers }: RouteRequest): boolean {
  const version = header(headers, headerNames.version);
  return version !== undefined && !isSessionVersion(version);
}

function notHere(ctx: RouteContext): RouteResponse {
  const text = 'This protocol version uses POST alone.';
  return refusal(405, 'METHOD_NOT_ALLOWED', text, ctx.correlationId, { allow: 'POST, OPTIONS' });
}

function post(server: McpServer, request: RouteRequest, ctx: RouteContext): RouteResponse | Promise<RouteResponse> {
  const body = readBody(typeof request.body === 'string' ? request.body : Buffer.from(request.rawBody).toString());
  switch (body.form) {
    case 'json-rpc':
      return answerMessage(server, body.message, body.text, request, ctx);
    case 'batch':
      return answerBatch(server, body.messages, request, ctx);
    case 'legacy':
      return answerLegacy(server, body.body, ctx);
    case 'unparsable':
      return jsonReply(
        errorReply(
          new RpcFailure('PARSE_ERROR', 'The body could not be read.', { details: { parse_error: body.parseError } }),
          { idText: undefined, era: 'session', correlationId: ctx.correlationId },
        ),
      );
    case 'too-deep':
      return refusal(400, 'INVALID_REQUEST', 'The body is nested too deeply.', ctx.correlationId);
    case 'scalar':
      return refusal(400, 'INVALID_REQUEST', 'The body must be a JSON object.', ctx.correlationId);
    case 'unknown':
      return unknownBody(body.why, ctx.correlationId);
  }
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
    return failedMethod(error, ctx);
  }
}
