import { randomBytes, randomUUID } from 'node:crypto';
import { type CallContext, isJsonObject, type JsonObject, type Principal, type Socket } from 'mortise/sdk';
import { invalidParams, wireError } from './errors.js';

export interface RpcRequest {
  readonly id: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** The id of responses to frames without an id. */
export const unknownId = 'unknown';

const idLimit = 128;

type FrameRead =
  | { readonly ok: true; readonly request: RpcRequest }
  | { readonly ok: false; readonly id: string; readonly error: ReturnType<typeof wireError> };

/** Parses the envelope of a request. An error carries the frame's id if it has one. */
export function readFrame(frame: string | Uint8Array): FrameRead {
  if (typeof frame !== 'string') return refused(unknownId, 'Invalid RPC request: frame must be text');
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    return refused(unknownId);
  }
  if (!isJsonObject(value)) return refused(unknownId, 'Invalid RPC request: frame must be an object');
  const { type = 'request', id, method, params = {} } = value;
  const known = typeof id === 'string' ? id : unknownId;
  if (id !== undefined && (typeof id !== 'string' || id.length > idLimit)) return refused(known, wrong('id'));
  if (type !== 'request') return refused(known, wrong('type'));
  if (typeof method !== 'string' || method.trim() === '') return refused(known, wrong('method'));
  if (!isJsonObject(params)) return refused(known, wrong('params'));
  return { ok: true, request: { id: id ?? randomUUID(), method, params } };
}

function wrong(field: string): string {
  return `Invalid RPC request: ${field}`;
}

function refused(id: string, message?: string): FrameRead {
  return { ok: false, id, error: wireError('PARSE_ERROR', message) };
}

const requestIdGrammar = /^[A-Za-z0-9._:-]{1,128}$/;

/** The call context of one request, with its own ids. */
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

export function newCorrelationId(): string {
  return `corr-${hex(8)}`;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

export const authMethod = 'auth';

/**
 * The principal of a key.
 *
 * @throws AUTH_FAILED, AUTH_RATE_LIMITED; INVALID_PARAMS without a key
 */
export function authenticate(socket: Pick<Socket, 'authenticate'>, { params }: RpcRequest): Principal {
  const { api_key: key } = params;
  if (typeof key !== 'string' || key === '') throw invalidParams('api_key', 'is required');
  const answer = socket.authenticate(key);
  if (answer.ok) return answer.principal;
  throw wireError(answer.reason === 'rate_limited' ? 'AUTH_RATE_LIMITED' : 'AUTH_FAILED');
}
