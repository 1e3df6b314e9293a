import { networkDenied } from './network-denied.js';

interface Step {
  readonly url: URL;
  readonly init: RequestInit;
}

const statuses = new Set([301, 302, 303, 307, 308]);
const contentHeaders = ['content-encoding', 'content-language', 'content-length', 'content-location', 'content-type'];
const credentialHeaders = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

/** A response that names another place to ask. */
export function isRedirect(response: Response): boolean {
  return statuses.has(response.status) && response.headers.has('location');
}

/**
 * The request that follows a redirect, by the fetch standard (4.4, HTTP-redirect fetch): what turns into a GET loses its
 * body, what leaves the origin loses its credentials.
 */
export function redirected(from: URL, init: RequestInit, response: Response): Step {
  const location = response.headers.get('location') ?? '';
  if (!URL.canParse(location, from.href)) throw networkDenied(from.hostname, 'it redirects to no address');
  const url = new URL(location, from);
  const headers = new Headers(init.headers);
  const method = (init.method ?? 'GET').toUpperCase();
  const becomesGet =
    (response.status === 303 && method !== 'GET' && method !== 'HEAD') ||
    (method === 'POST' && (response.status === 301 || response.status === 302));
  if (url.origin !== from.origin) for (const name of credentialHeaders) headers.delete(name);
  if (!becomesGet) {
    if (init.body instanceof ReadableStream) throw networkDenied(from.hostname, 'it redirects a body that is a stream');
    return { url, init: { ...init, headers } };
  }
  for (const name of contentHeaders) headers.delete(name);
  const { body: _, ...rest } = init;
  return { url, init: { ...rest, method: 'GET', headers } };
}
