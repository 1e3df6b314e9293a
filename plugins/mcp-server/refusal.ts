import type { RouteResponse } from 'mortise/sdk';

/** A refusal outside JSON-RPC: the same members as those of the host. */
export function refusal(
  status: number,
  reason: string,
  text: string,
  correlationId: string,
  headers: Readonly<Record<string, string>> = {},
): RouteResponse {
  return { status, headers, body: { ok: false, error: text, detail: text, reason, correlation_id: correlationId } };
}

/** A body that is neither JSON-RPC nor the older form. */
export function unknownBody(why: string, correlationId: string): RouteResponse {
  return {
    status: 400,
    body: {
      ok: false,
      error: `Invalid request format: ${why}.`,
      reason: 'INVALID_REQUEST',
      correlation_id: correlationId,
    },
  };
}
