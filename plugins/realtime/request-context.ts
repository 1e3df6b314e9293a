import { randomBytes } from 'node:crypto';
import type { CallContext, Principal } from 'mortise/sdk';

const requestIdGrammar = /^[A-Za-z0-9._:-]{1,128}$/;

/** The call context of one request: ids of its own, in the context of its socket. */
export function requestContext(
  socket: CallContext,
  id: string,
  principal: Principal,
  signal: AbortSignal,
): CallContext {
  return {
    signal,
    log: socket.log,
    principal,
    requestId: requestIdGrammar.test(id) ? id : `req-${hex(8)}`,
    correlationId: newCorrelationId(),
    trace: { traceId: hex(16), spanId: hex(8), sampled: socket.trace.sampled },
  };
}

/** Made here, one per request. */
export function newCorrelationId(): string {
  return `corr-${hex(8)}`;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
