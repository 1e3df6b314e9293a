import type { Route } from 'mortise/sdk';
import { updateGovernance } from '../governance/update-governance.js';
import type { GatewayParts } from '../parts.js';
import { answerError, type ErrorShape } from './answer-error.js';
import { type CheckedTool, readBody } from './read-body.js';
import { withWarnings } from './with-warnings.js';

function errorShape(correlationId: string): ErrorShape {
  return {
    unavailable: (error) => ({
      ok: false,
      action: 'error',
      settings: null,
      message: error.message,
      correlation_id: correlationId,
      reason: error.code,
    }),
  };
}

/** `POST /governance/settings/update` */
export function governanceRoute(parts: GatewayParts, tool: CheckedTool): Route {
  return {
    async handle(request, ctx) {
      try {
        parts.http.admitToolCall('governance_update', ctx);
        const { args, warnings } = readBody(request.body, tool);
        return { body: withWarnings(await updateGovernance(args, ctx, parts), warnings) };
      } catch (error) {
        return answerError(error, ctx.correlationId, errorShape(ctx.correlationId));
      }
    },
  };
}
