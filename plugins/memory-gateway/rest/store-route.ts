import type { Route } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { storeMemory } from '../store/store-memory.js';
import { answerError, type ErrorShape } from './answer-error.js';
import { type CheckedTool, readBody } from './read-body.js';
import { withWarnings } from './with-warnings.js';

function errorShape(correlationId: string): ErrorShape {
  return {
    invalid: { action: 'error' },
    unavailable: (error) => ({
      ok: false,
      action: 'error',
      space_written: null,
      memory_id: null,
      evidence_refs: null,
      message: error.message,
      outbox_id: null,
      outbox_status: null,
      correlation_id: correlationId,
      reason: error.code,
      requested_space: null,
      final_space: null,
      dedup: false,
      error_code: error.code,
      retryable: error.retryable,
    }),
  };
}

/** `POST /memory/store` */
export function storeRoute(parts: GatewayParts, tool: CheckedTool): Route {
  return {
    async handle(request, ctx) {
      try {
        parts.http.admitToolCall('memory_store', ctx);
        const { args, warnings } = readBody(request.body, tool);
        return { body: withWarnings(await storeMemory(args, ctx, parts), warnings) };
      } catch (error) {
        return answerError(error, ctx.correlationId, errorShape(ctx.correlationId));
      }
    },
  };
}
