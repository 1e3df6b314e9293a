import type { Route } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { reliabilityReport } from '../report.js';
import { answerError, type ErrorShape } from './answer-error.js';

function errorShape(correlationId: string): ErrorShape {
  return {
    unavailable: (error) => ({
      ok: false,
      outbox_stats: {},
      audit_stats: {},
      v2_evidence_stats: {},
      content_intercept_stats: {},
      generated_at: '',
      message: error.message,
      correlation_id: correlationId,
      reason: error.code,
    }),
  };
}

/** `GET /reliability/report` */
export function reportRoute(parts: GatewayParts): Route {
  return {
    async handle(_request, ctx) {
      try {
        parts.http.admitToolCall('reliability_report', ctx);
        return { body: await reliabilityReport(ctx.correlationId, parts) };
      } catch (error) {
        return answerError(error, ctx.correlationId, errorShape(ctx.correlationId));
      }
    },
  };
}
