import type { Authenticator, Caller } from './authenticate.js';
import { addressClass } from './client-address.js';
import type { Exchange } from './exchange.js';
import type { HostCheck } from './host-check.js';
import type { RateLimiter } from './rate-limit.js';
import { RefusedRequest } from './refusal-rows.js';
import type { RequestTarget } from './request-target.js';

/** What decides whether a request may go on. */
export interface Admission {
  readonly hosts: HostCheck;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter | undefined;
  readonly now: () => number;
}

/** Checks that the request means this server, and comes from no foreign page. */
export function admitHost({ hosts }: Admission, { request }: Exchange, target: RequestTarget): void {
  const { host, origin } = request.headers;
  const sentOnce = request.httpVersionMajor > 1 || countHosts(request.rawHeaders) === 1;
  if (!sentOnce || !hosts.host(host) || (target.authority !== undefined && !hosts.host(target.authority))) {
    throw new RefusedRequest('host_not_allowed', {
      hint: 'Add the name to MORTISE_ALLOWED_HOSTS when this server should answer to it.',
    });
  }
  if (origin !== undefined && !hosts.origin(origin, host)) {
    throw new RefusedRequest('origin_not_allowed', {
      hint: 'Add the origin to MORTISE_ALLOWED_ORIGINS when its pages may call this server.',
    });
  }
}

/** Finds out who calls, and checks the right that the route asks for. */
export function admitCaller(
  { authenticator }: Admission,
  exchange: Exchange,
  auth: 'public' | 'key' | 'admin',
): Caller {
  const caller = authenticator.identify(exchange.request.headers, exchange.client.loopback);
  exchange.principal = caller.principal;
  if (auth === 'public') return caller;
  if (authenticator.keyed && caller.credentials !== 'good') throw new RefusedRequest('unauthorized');
  if (auth === 'admin' && !caller.principal.admin) throw adminRequired(authenticator);
  return caller;
}

/** Takes a token of the caller's bucket; 0 when there was one, else the milliseconds until there is one again. */
export function takeToken({ limiter, now }: Admission, caller: Pick<Exchange, 'principal' | 'client'>): number {
  return limiter?.take(callerKey(caller), now()) ?? 0;
}

/** Refuses a request whose caller has used up its rate. */
export function admitRate(admission: Admission, exchange: Exchange): void {
  const waitMs = takeToken(admission, exchange);
  if (waitMs === 0) return;
  throw new RefusedRequest('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1000), retryable: true });
}

/** The principal, or the class of the address: what a refusal may say of the caller. */
export function refusalSubject({ principal, client }: Pick<Exchange, 'principal' | 'client'>): string {
  return principal?.authenticated ? principal.id : addressClass(client.address);
}

function callerKey({ principal, client }: Pick<Exchange, 'principal' | 'client'>): string {
  return principal?.authenticated ? `key ${principal.id}` : `address ${client.address}`;
}

function adminRequired({ keyed, adminKeyed }: Authenticator): RefusedRequest {
  if (adminKeyed)
    return new RefusedRequest('admin_required', { hint: 'Send the admin key in the header X-Admin-Key.' });
  return new RefusedRequest('admin_required', {
    hint: keyed
      ? 'Set GOVERNANCE_ADMIN_KEY on the server and send it in the header X-Admin-Key.'
      : 'Call from the machine itself, without a proxy, or set GOVERNANCE_ADMIN_KEY on the server.',
  });
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name !== undefined && name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
