import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { MortiseError } from '../sdk/errors.js';
import { CommandError } from './output.js';

/** Where the running server is and what opens it. */
export interface ClientOptions {
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
  /** Ends what is under way: Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined when it is none. */
  readonly body: unknown;
}

/** The running server's API, as the commands use it. */
export interface Client {
  /** Something answers as a Mortise server. */
  alive(): Promise<boolean>;
  /** Whether the server that answers has the admin API, which ends with its plugin. */
  administers(): Promise<boolean>;
  /** Whatever the status is. @throws MortiseError `no_server` */
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** @throws MortiseError with the server's code, message, details and hint. */
  request<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** The body of an answer as it arrives. @throws MortiseError like `request` */
  stream(method: string, path: string, body?: unknown): AsyncIterable<Uint8Array>;
}

const aliveWithinMs = 2_000;

export function createClient(options: ClientOptions): Client {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.apiKey) headers['x-api-key'] = options.apiKey;
  if (options.adminKey) headers['x-admin-key'] = options.adminKey;

  const begin = (method: string, path: string, body?: unknown): Promise<IncomingMessage> => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const given = text === undefined ? headers : { ...headers, 'content-type': 'application/json' };
    return send(target(options.base, path), { method, headers: given, signal: options.signal }, text);
  };
  const ask = async (method: string, path: string, body?: unknown): Promise<Answer> =>
    answerOf(await begin(method, path, body));

  return {
    alive: async () => {
      try {
        const url = target(options.base, '/healthz');
        const signal = AbortSignal.any([options.signal, AbortSignal.timeout(aliveWithinMs)]);
        const { status, body } = await answerOf(await send(url, { method: 'GET', headers: {}, signal }));
        return status === 200 && (body as { ok?: unknown } | undefined)?.ok === true;
      } catch (error) {
        if (error instanceof CommandError) throw error;
        return false;
      }
    },
    administers: async () => (await ask('HEAD', '/admin/plugins')).status !== 404,
    ask,
    request: async <T>(method: string, path: string, body?: unknown): Promise<T> => {
      const answer = await ask(method, path, body);
      if (answer.status < 400) return answer.body as T;
      throw errorOf(answer, options);
    },
    async *stream(method: string, path: string, body?: unknown) {
      const incoming = await begin(method, path, body);
      if ((incoming.statusCode ?? 0) >= 400) throw errorOf(await answerOf(incoming), options);
      yield* incoming as AsyncIterable<Uint8Array>;
    },
  };
}

function target(base: string, path: string): URL {
  try {
    const url = new URL(`${base.replace(/\/$/, '')}${path}`);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  } catch {
    // Reported below.
  }
  throw new CommandError(`"${base}" is no address of a server.`, 'Give one like http://127.0.0.1:8088.');
}

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** `fetch` gives up after five minutes without an answer; a command may work for longer. */
function send(url: URL, { method, headers, signal }: Sent, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = request(url, { method, headers: { ...headers, ...length }, signal }, resolve);
    outgoing.on('error', (error) => {
      const why = new MortiseError('no_server', `The server at ${url.origin} does not answer: ${error.message}.`, {
        hint: 'Run mortise status to check whether it is running.',
      });
      reject(signal.aborted ? signal.reason : why);
    });
    outgoing.end(body);
  });
}

async function answerOf(incoming: IncomingMessage): Promise<Answer> {
  return { status: incoming.statusCode ?? 0, body: parse(await readAll(incoming)) };
}

interface ErrorBody {
  readonly code?: string;
  readonly message?: string;
  readonly details?: Record<string, unknown>;
  readonly hint?: string;
}

function errorOf({ status, body }: Answer, options: ClientOptions): MortiseError {
  const { code, message, details, hint: given } = (body as { error?: ErrorBody } | undefined)?.error ?? {};
  const hint = hintOf(code, given, options);
  return new MortiseError(code ?? 'request_failed', message ?? `The server answered ${status}.`, {
    status,
    ...(details ? { details } : {}),
    ...(hint ? { hint } : {}),
  });
}

/** The server's hints name headers; a user of the CLI sets variables and options instead. */
function hintOf(code: string | undefined, given: string | undefined, options: ClientOptions): string | undefined {
  if (code === 'unauthorized') {
    return options.apiKey
      ? 'MORTISE_API_KEY (or --api-key) is no key of this server.'
      : 'Set MORTISE_API_KEY to a key of this server, or give it with --api-key.';
  }
  if (code !== 'admin_required' || given?.includes('X-Admin-Key') !== true) return given;
  if (given.includes('on the server')) {
    return 'Set GOVERNANCE_ADMIN_KEY on the server, and to the same key here, or give it with --admin-key.';
  }
  return options.adminKey
    ? 'GOVERNANCE_ADMIN_KEY (or --admin-key) is not the admin key of this server.'
    : 'Set GOVERNANCE_ADMIN_KEY to the admin key of this server, or give it with --admin-key.';
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
