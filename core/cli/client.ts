import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { MortiseError } from '../sdk/errors.js';
import { CommandError, LocalError } from './output.js';
import { translated } from './translated.js';

/** Address and keys of the running server. */
interface ClientOptions {
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
  /** Aborts requests in flight: Ctrl-C. */
  readonly signal: AbortSignal;
}

interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined when it is not JSON. */
  readonly body: unknown;
}

/** A client of the running server's API. */
export interface Client {
  /** Whether a Mortise server answers at the address. */
  alive(): Promise<boolean>;
  /** Whether the server has the admin API, which needs its plugin to be active. */
  administers(): Promise<boolean>;
  /** Resolves with any status. @throws LocalError `no_server` */
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** A body is sent as JSON, or as a form. @throws ApiError, LocalError `no_server` */
  request<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Streams the body of a response. @throws ApiError, LocalError like `request` */
  stream(method: string, path: string, body?: unknown): AsyncIterable<Uint8Array>;
}

/** A refusal of the API, with its code, message, details and status. */
export class ApiError extends MortiseError {}

const aliveWithinMs = 2_000;

export function createClient(options: ClientOptions): Client {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (options.apiKey) headers['x-api-key'] = options.apiKey;
  if (options.adminKey) headers['x-admin-key'] = options.adminKey;

  const begin = async (method: string, path: string, body?: unknown): Promise<IncomingMessage> => {
    const { bytes, type } = await encode(body);
    const given = type === undefined ? headers : { ...headers, 'content-type': type };
    return send(target(options.base, path), { method, headers: given, signal: options.signal }, bytes);
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
    administers: async () => {
      const { status } = await ask('HEAD', '/admin/plugins');
      if (status !== 503) return status !== 404;
      // Its plugin is enabled but not active; a busy or draining server returns another code.
      const answer = await ask('GET', '/admin/plugins');
      return errorOf(answer, options).code !== 'plugin_unavailable';
    },
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
  throw new CommandError(`"${base}" is not the address of a server.`, 'Use the form http://127.0.0.1:8088.');
}

interface Encoded {
  readonly bytes?: Uint8Array;
  readonly type?: string;
}

async function encode(body: unknown): Promise<Encoded> {
  if (body === undefined) return {};
  if (!(body instanceof FormData)) return { bytes: Buffer.from(JSON.stringify(body)), type: 'application/json' };
  const encoded = new Response(body);
  const type = encoded.headers.get('content-type') ?? 'multipart/form-data';
  return { bytes: new Uint8Array(await encoded.arrayBuffer()), type };
}

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Unlike `fetch`, which stops after five minutes without an answer, it waits as long as a command runs. */
function send(url: URL, { method, headers, signal }: Sent, body?: Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const length = body === undefined ? {} : { 'content-length': String(body.byteLength) };
    const outgoing = request(url, { method, headers: { ...headers, ...length }, signal }, resolve);
    outgoing.on('error', (error) => {
      const why = new LocalError(
        'no_server',
        translated('The server at {origin} does not answer: {reason}.', { origin: url.origin, reason: error.message }),
        {
          hint: translated('Run mortise status to check whether it is running.'),
        },
      );
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
  if (code === undefined) {
    return new LocalError('invalid_answer', `The server answered ${status} without an error of the API.`, {
      details: { status },
      hint: 'Check that --api-base or MORTISE_API_BASE is the address of a Mortise server.',
    });
  }
  const hint = hintOf(code, given, options) ?? hintByStatus(status);
  return new ApiError(code, message ?? `The server answered ${status}.`, {
    status,
    ...(details ? { details } : {}),
    hint,
  });
}

/** The server's hints name headers; a user of the CLI sets variables and options instead. */
function hintOf(code: string | undefined, given: string | undefined, options: ClientOptions): string | undefined {
  if (code === 'unauthorized') {
    return options.apiKey
      ? translated('MORTISE_API_KEY (or --api-key) is not a key of this server.')
      : translated('Set MORTISE_API_KEY to a key of this server, or pass one with --api-key.');
  }
  if (code !== 'admin_required' || given?.includes('X-Admin-Key') !== true) return given;
  if (given.includes('on the server')) {
    return translated('Set GOVERNANCE_ADMIN_KEY on the server, and to the same key here, or pass it with --admin-key.');
  }
  return options.adminKey
    ? translated('GOVERNANCE_ADMIN_KEY (or --admin-key) is not the admin key of this server.')
    : translated('Set GOVERNANCE_ADMIN_KEY to the admin key of this server, or pass it with --admin-key.');
}

/** The hint of an error that has none. */
export function hintByStatus(status: number): string {
  if (status === 404) return translated('Check the name: the list command of the same group shows all names.');
  if (status === 409) return translated('Check the current state, then try again.');
  if (status === 429 || status === 503) return translated('Wait a moment, then try again.');
  if (status === 401 || status === 403) return translated('Use a key that has this right: --api-key, or --admin-key.');
  if (status < 500) return translated('Add --help to the command for its options and examples.');
  return translated('mortise plugin doctor looks for problems; the server log has details.');
}

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
