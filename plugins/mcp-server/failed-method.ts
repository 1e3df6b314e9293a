import type { RouteContext, RouteResponse } from 'mortise/sdk';
import { errorReply } from './envelope.js';
import { jsonReply } from './reply.js';
import { RpcFailure } from './wire/failure.js';

/**
 * Answers a `GET` or `DELETE` that failed. Whoever sends one reads the status, not a message: a failure that is told with
 * 200 where messages are exchanged is 503 here.
 */
export function failedMethod(error: unknown, { correlationId }: RouteContext): RouteResponse {
  if (!(error instanceof RpcFailure)) throw error;
  const finished = errorReply(error, { idText: undefined, era: 'session', correlationId });
  return jsonReply({ ...finished, status: finished.status === 200 ? 503 : finished.status });
}
