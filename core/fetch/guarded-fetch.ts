import { isIP } from 'node:net';
import { Agent, type Dispatcher, fetch, request } from 'undici';
import type { ByteExchange, ByteResponse, SocketExchange } from '../sdk/host/fetch.js';
import { type GuardedFetch, type GuardedFetchOptions, MortiseError } from '../sdk/index.js';
import {
  type AddressRule,
  createPinnedLookup,
  matchesHost,
  networkDenied,
  notLinkLocal,
  publicOnly,
  type Resolve,
  resolveBySystem,
} from './addresses.js';
import { openSocket } from './open-socket.js';

interface Step {
  readonly url: URL;
  readonly init: RequestInit;
}

const statuses = new Set([301, 302, 303, 307, 308]);
const contentHeaders = ['content-encoding', 'content-language', 'content-length', 'content-location', 'content-type'];
const credentialHeaders = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

/** A redirect response. */
function isRedirect(response: Response): boolean {
  return statuses.has(response.status) && response.headers.has('location');
}

/**
 * The request that follows a redirect, by the fetch standard (4.4, HTTP-redirect fetch): a request that becomes a GET loses its
 * body, and one to another origin loses its credentials.
 */
function redirected(from: URL, init: RequestInit, response: Response): Step {
  const location = response.headers.get('location') ?? '';
  if (!URL.canParse(location, from.href)) throw networkDenied(from.hostname, 'it redirects to an invalid address');
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

/**
 * Serializes a form: undici does not recognize the runtime's FormData and would send its name instead of its content.
 */
async function withPortableBody(init: RequestInit): Promise<RequestInit> {
  if (!(init.body instanceof FormData)) return init;
  const written = new Response(init.body);
  const headers = new Headers(init.headers);
  headers.set('content-type', written.headers.get('content-type') ?? 'multipart/form-data');
  return { ...init, headers, body: await written.arrayBuffer() };
}

export interface FetchGuardOptions {
  /** Allows private addresses from users and models. */
  readonly allowPrivate?: boolean;
  /** Resolver for untrusted requests; the system's when absent. */
  readonly resolve?: Resolve;
}

/** The outbound dispatcher, shared by all plugins so that they share connections. */
export interface FetchGuard {
  /** `host.use('fetch')` of a plugin whose manifest lists these hosts. */
  forHosts(patterns: readonly string[]): GuardedFetch;
  /** Closes all connections; requests in flight are aborted. */
  close(): Promise<void>;
}

const maxRedirects = 5;

export function createFetchGuard({
  allowPrivate = false,
  resolve = resolveBySystem,
}: FetchGuardOptions = {}): FetchGuard {
  const trusted = new Agent();
  const guarding = (rule: AddressRule) => new Agent({ connect: { lookup: createPinnedLookup(resolve, rule) } });
  const untrusted = allowPrivate ? trusted : guarding(publicOnly);
  const chosen = guarding(notLinkLocal);

  const ruleOf = ({
    untrusted: named = false,
    linkLocal,
  }: Pick<GuardedFetchOptions, 'untrusted' | 'linkLocal'>): AddressRule | undefined => {
    if (named && !allowPrivate) return publicOnly;
    return linkLocal === 'refused' ? notLinkLocal : undefined;
  };

  return {
    forHosts(patterns) {
      const guarded = async (url: string | URL, options: GuardedFetchOptions = {}): Promise<Response> => {
        const { untrusted: named = false, linkLocal, headMs, idleMs, ...init } = options;
        const rule = ruleOf({ untrusted: named, linkLocal });
        const dispatcher = withLimits(rule === publicOnly ? untrusted : rule === notLinkLocal ? chosen : trusted, {
          headMs,
          idleMs,
        });
        let step = { url: new URL(url), init: await withPortableBody(init) };
        for (let redirects = 0; ; redirects += 1) {
          requireAllowed(step.url, patterns, rule);
          const response = await send(step.url, step.init, dispatcher);
          if (!isRedirect(response) || (init.redirect ?? 'follow') !== 'follow') return response;
          if (redirects === maxRedirects) throw networkDenied(step.url.hostname, 'it redirects too often');
          await response.body?.cancel();
          step = redirected(step.url, step.init, response);
        }
      };
      return Object.assign(guarded, {
        async check(url: URL, options: Pick<GuardedFetchOptions, 'untrusted' | 'linkLocal'> = {}) {
          requireAllowed(url, patterns, ruleOf(options));
        },
        async bytes(url: string | URL, exchange: ByteExchange) {
          const address = new URL(url);
          requireAllowed(address, patterns);
          return sendBytes(address, exchange, trusted);
        },
        async socket(url: string | URL, exchange: SocketExchange) {
          const address = new URL(url);
          const rule = ruleOf(exchange);
          requireAllowed(address, patterns, rule, socketProtocols);
          return openSocket(address, exchange, rule && createPinnedLookup(resolve, rule));
        },
      });
    },
    async close() {
      await Promise.all([...new Set([trusted, untrusted, chosen])].map((agent) => agent.destroy()));
    },
  };
}

const httpProtocols = ['http:', 'https:'];
const socketProtocols = ['ws:', 'wss:'];

function requireAllowed(
  { protocol, hostname }: URL,
  patterns: readonly string[],
  rule?: AddressRule,
  protocols: readonly string[] = httpProtocols,
): void {
  if (!protocols.includes(protocol)) {
    const names = protocols.map((name) => name.slice(0, -1));
    throw networkDenied(hostname, `only ${names.join(' and ')} are supported`);
  }
  if (!matchesHost(patterns, hostname)) {
    throw networkDenied(hostname, 'the manifest does not list it', 'Add it to permissions.network of plugin.json.');
  }
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  // A literal address needs no lookup.
  if (rule && isIP(literal) !== 0 && !rule.allows(literal)) throw networkDenied(hostname, rule.why);
}

/** The dispatcher with the time limits of a request. */
function withLimits(
  dispatcher: Dispatcher,
  { headMs, idleMs }: Pick<GuardedFetchOptions, 'headMs' | 'idleMs'>,
): Dispatcher {
  if (headMs === undefined && idleMs === undefined) return dispatcher;
  const limits = {
    ...(headMs === undefined ? {} : { headersTimeout: headMs }),
    ...(idleMs === undefined ? {} : { bodyTimeout: idleMs }),
  };
  return dispatcher.compose((dispatch) => (options, handler) => dispatch({ ...options, ...limits }, handler));
}

async function sendBytes(url: URL, exchange: ByteExchange, dispatcher: Dispatcher): Promise<ByteResponse> {
  const { method, headers, body, signal, headMs, idleMs } = exchange;
  const response = await request(url, {
    method: method as Dispatcher.HttpMethod,
    headers,
    signal,
    dispatcher: withLimits(dispatcher, { headMs, idleMs }),
    ...(body === undefined || body.length === 0 ? {} : { body }),
  });
  return { status: response.statusCode, headers: response.headers, body: response.body };
}

async function send(url: URL, init: RequestInit, dispatcher: Dispatcher): Promise<Response> {
  try {
    const options = { ...init, redirect: init.redirect === 'error' ? 'error' : 'manual', dispatcher };
    return (await fetch(url, options as Parameters<typeof fetch>[1])) as unknown as Response;
  } catch (error) {
    // The lookup's refusal arrives as the cause of a general failure.
    const cause = error instanceof Error ? error.cause : undefined;
    throw cause instanceof MortiseError ? cause : error;
  }
}
