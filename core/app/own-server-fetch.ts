import { isIP } from 'node:net';
import { callDepthHeader } from '../http/index.js';
import { currentMark } from '../kernel/attribution.js';
import type { GuardedFetch, HttpService } from '../sdk/index.js';

/**
 * Adds the depth of the running call to requests that go to this server, so that a plugin that calls itself over HTTP is
 * refused like one that calls itself in the process. Redirects, sockets, and a name that a proxy has for this server are
 * not recognised.
 */
export function withCallDepth(fetch: GuardedFetch, http: Pick<HttpService, 'origin'>): GuardedFetch {
  const depthFor = (url: string | URL): string | undefined => {
    const depth = currentMark()?.depth ?? 0;
    return depth > 0 && isOwnServer(url, http.origin) ? String(depth) : undefined;
  };
  const counted: Pick<GuardedFetch, 'check' | 'bytes' | 'socket'> = {
    check: (url, options) => fetch.check(url, options),
    socket: (url, exchange) => fetch.socket(url, exchange),
    bytes: (url, exchange) => {
      const depth = depthFor(url);
      if (depth === undefined) return fetch.bytes(url, exchange);
      return fetch.bytes(url, { ...exchange, headers: { ...exchange.headers, [callDepthHeader]: depth } });
    },
  };
  return Object.assign((...[url, options]: Parameters<GuardedFetch>) => {
    const depth = depthFor(url);
    if (depth === undefined) return fetch(url, options);
    const headers = new Headers(options?.headers);
    headers.set(callDepthHeader, depth);
    return fetch(url, { ...options, headers });
  }, counted);
}

/** Its port at an address: a server of another machine on the same port gets a header that it ignores. */
function isOwnServer(given: string | URL, origin: string | undefined): boolean {
  if (origin === undefined || !URL.canParse(String(given))) return false;
  const [url, own] = [new URL(given), new URL(origin)];
  if (url.port !== own.port) return false;
  return (
    url.hostname === own.hostname || url.hostname === 'localhost' || isIP(url.hostname.replace(/^\[|\]$/g, '')) > 0
  );
}
