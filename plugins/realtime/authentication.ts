import type { Principal, Socket } from 'mortise/sdk';
import { invalidParams, wireError } from './errors.js';
import type { RpcRequest } from './read-frame.js';

export const authMethod = 'auth';

/**
 * Who a key belongs to.
 *
 * @throws AUTH_FAILED, AUTH_RATE_LIMITED; INVALID_PARAMS for what is no key at all
 */
export function authenticate(socket: Pick<Socket, 'authenticate'>, { params }: RpcRequest): Principal {
  const { api_key: key } = params;
  if (typeof key !== 'string' || key === '') throw invalidParams('api_key', 'is required');
  const answer = socket.authenticate(key);
  if (answer.ok) return answer.principal;
  throw wireError(answer.reason === 'rate_limited' ? 'AUTH_RATE_LIMITED' : 'AUTH_FAILED');
}
