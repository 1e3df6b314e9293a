import type { Route } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { queryMemories } from '../query/query-memories.js';
import { answerError, type ErrorShape } from './answer-error.js';
import { type CheckedTool, readBody } from './read-body.js';
import { withWarnings } from './with-warnings.js';

function errorShape(correlationId: string): ErrorShape {
  return {
    unavailable: (error) => ({
      ok: false,
      results: [],
      total: 0,
      spaces_searched: [],
      message: error.message,
      degraded: true,
      correlation_id: correlationId,
      reason: error.code,
    }),
  };
}

/** `POST /memory/query` */
export function queryRoute(parts: GatewayParts, tool: CheckedTool): Route {
  return {
    async handle(request, ctx) {
      try {
        parts.http.admitToolCall('memory_query', ctx);
        const { args, warnings } = readBody(request.body, tool);
        return { body: withWarnings(await queryMemories(args, ctx, parts), warnings) };
      } catch (error) {
        return answerError(error, ctx.correlationId, errorShape(ctx.correlationId));
      }
    },
  };
}
