import { isJsonObject, type JsonObject, type RouteContext, type RouteResponse } from 'mortise/sdk';
import { failureOf } from './failure-of.js';
import { invalidFormat, retryAfter } from './responses.js';
import type { McpServer } from './server.js';
import { argumentsOf, namedTool, runTool, timeLimit } from './tools/call.js';
import { errorObject } from './wire/failure.js';
import { member } from './wire/params.js';

/** Answers the legacy body `{tool, arguments}`: a tool's result without JSON-RPC. */
export async function answerLegacy(server: McpServer, body: JsonObject, ctx: RouteContext): Promise<RouteResponse> {
  const { correlationId } = ctx;
  if (Object.hasOwn(body, 'arguments') && !isJsonObject(member(body, 'arguments'))) {
    return invalidFormat('member "arguments" must be an object', correlationId);
  }
  const params = { name: member(body, 'tool'), arguments: member(body, 'arguments') };
  try {
    const tool = await namedTool(server, params, ctx);
    const { result } = await runTool(server, {
      tool,
      args: argumentsOf(params, tool.name),
      caller: ctx,
      client: { capabilities: undefined },
      timeoutMs: timeLimit(server, tool),
    });
    return { status: 200, body: bodyOf(result, correlationId) };
  } catch (error) {
    const failure = failureOf(error, server.host.log, correlationId);
    const { message, data } = errorObject(failure, 'session', correlationId);
    return {
      status: failure.reason === 'RATE_LIMITED' ? 429 : 200,
      headers: retryAfter(failure) ?? {},
      body: {
        ok: false,
        error: message,
        reason: failure.reason,
        details: (data as JsonObject).details,
        result: null,
        correlation_id: correlationId,
      },
    };
  }
}

function bodyOf(result: JsonObject, correlationId: string): JsonObject {
  if (member(result, 'ok') === false || member(result, 'isError') === true) {
    const message = member(result, 'message');
    const error = typeof message === 'string' ? message : 'The tool refused the call.';
    return { ok: false, error, result, correlation_id: correlationId };
  }
  return { ok: true, result, error: null, correlation_id: correlationId };
}
