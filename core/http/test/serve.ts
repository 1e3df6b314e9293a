import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import type { CallContext, Logger, ManifestRoute, Refusal } from '../../sdk/index.js';
import type { RouteContribution } from '../../sdk/points/route.js';
import type { HttpSettings } from '../../settings/types.js';
import { createHttpServer, type HttpDeps, type HttpServer, type MountedRoute, type RouteInvoker } from '../index.js';
import { testMounts } from './test-mounts.js';

/** A server under test, with the refusals and log lines that it emitted. */
export interface Served {
  readonly server: HttpServer;
  readonly origin: string;
  readonly port: number;
  readonly refusals: Refusal[];
  /** Each log line with its fields, as JSON. */
  readonly lines: string[];
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; a test that reads an absent member fails by itself. */
  readonly json: Record<string, unknown> & { readonly error: Record<string, unknown> };
}

const running: HttpServer[] = [];

export const settings: HttpSettings = {
  host: '127.0.0.1',
  port: 0,
  apiKey: undefined,
  principals: [],
  adminKey: undefined,
  allowedHosts: [],
  allowedOrigins: [],
  rateLimit: undefined,
  toolRateLimits: {},
  trustProxy: false,
  timeouts: { readHeader: 10, read: 120, write: 0, idle: 120 },
};

/** Starts a server on a free port. Stopped by {@link stopAll}. */
export async function serve(
  routes: readonly MountedRoute[],
  changes: Partial<HttpSettings> = {},
  dependencies: Partial<HttpDeps> = {},
): Promise<Served> {
  const refusals: Refusal[] = [];
  const lines: string[] = [];
  const server = createHttpServer(
    { ...settings, ...changes },
    { log: collectingLog(lines), emitRefusal: (refusal) => refusals.push(refusal), ...dependencies },
  );
  running.push(server);
  server.mount(routes, testMounts);
  const { origin } = await server.listen();
  return { server, origin, port: Number(new URL(origin).port), refusals, lines };
}

export async function stopAll(): Promise<void> {
  await Promise.all(running.splice(0).map((server) => server.close()));
}

/** A mounted route of a running plugin. */
export function route(
  declaration: Partial<ManifestRoute> & { readonly path: string },
  contribution: RouteContribution | ((...args: Parameters<HandleFunction>) => ReturnType<HandleFunction>),
  more: Partial<MountedRoute> = {},
): MountedRoute {
  const value = typeof contribution === 'function' ? { handle: contribution } : contribution;
  return {
    plugin: 'probe',
    enabled: true,
    invoke: invokerOf(value),
    declaration: { name: 'probe', kind: 'http', auth: 'public', ...declaration },
    mount: testMounts.find(({ name }) => name === declaration.mount),
    ...more,
  };
}

type HandleFunction = Extract<RouteContribution, { handle: unknown }>['handle'];

/** Runs the contribution as the kernel does: an abort rejects immediately, whatever the contribution does. */
export function invokerOf(value: RouteContribution): RouteInvoker {
  return {
    call: (run, options) =>
      new Promise((resolve, reject) => {
        const { signal } = options;
        const leave = () => reject(signal?.reason);
        signal?.addEventListener('abort', leave, { once: true });
        const context = { log: collectingLog([]), ...options } as CallContext;
        Promise.resolve()
          .then(() => run(value, context))
          .then(resolve, reject)
          .finally(() => signal?.removeEventListener('abort', leave));
      }),
  };
}

/** Sends one request over a separate connection, with path and headers unchanged. */
export function ask(
  served: Served,
  path: string,
  options: RequestOptions & { readonly body?: string | Uint8Array; readonly json?: unknown } = {},
): Promise<Answer> {
  const { body = options.json === undefined ? undefined : JSON.stringify(options.json) } = options;
  const headers: Record<string, unknown> = { ...(options.headers as Record<string, unknown> | undefined) };
  if (options.json !== undefined) headers['content-type'] ??= 'application/json';
  if (body !== undefined) headers['content-length'] ??= Buffer.byteLength(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port: served.port,
        agent: false,
        ...options,
        path,
        method: options.method ?? (body === undefined ? 'GET' : 'POST'),
        headers: headers as RequestOptions['headers'],
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: asJson(text) });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends raw bytes and collects the answer until the server closes the connection. */
export function askRaw(served: Served, ...pieces: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(served.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => resolve(received));
    for (const piece of pieces) socket.write(piece);
  });
}

function asJson(text: string): Answer['json'] {
  try {
    return JSON.parse(text) as Answer['json'];
  } catch {
    return {} as Answer['json'];
  }
}

export function collectingLog(lines: string[]): Logger {
  const write = (fields: object | string, message?: string) => {
    lines.push(JSON.stringify([fields, message]));
  };
  return { trace: write, debug: write, info: write, warn: write, error: write };
}
