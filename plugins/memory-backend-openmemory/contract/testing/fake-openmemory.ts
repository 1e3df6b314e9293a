import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createFaultScript, type FakeCall, type FakeFault } from './fake-faults.js';
import { createFakeMemories, type FakeMemory, type JournalEntry } from './fake-memories.js';
import { type FakeDialect, respond, sendJson } from './fake-responses.js';

export type { FakeCall, FakeFault } from './fake-faults.js';
export type { FakeMemory, JournalEntry } from './fake-memories.js';
export type { FakeDialect } from './fake-responses.js';

export interface FakeOpenMemoryOptions {
  /** Default `query`. */
  readonly dialect?: FakeDialect;
  /** Default: any free port. */
  readonly port?: number;
  /** Without it every request except the health check is refused (401). */
  readonly apiKey?: string;
  /** Body of the health check; default: that of the dialect. */
  readonly health?: object;
  /** Default as on real servers: true for the dialect `search`, false for `query`. */
  readonly hitsWithMetadata?: boolean;
  /** Recognises a repeated `Idempotency-Key`. Default false, like most servers. */
  readonly idempotent?: boolean;
  /** Every applied write is appended to this file, as a JSON line, before its request is answered. */
  readonly journalFile?: string;
}

/** A received request. */
export interface FakeRequest {
  readonly call: FakeCall | 'unknown';
  readonly method: string;
  /** With the query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON, or undefined. */
  readonly body: unknown;
}

/** A scripted OpenMemory server on a real socket. */
export interface FakeOpenMemory {
  readonly origin: string;
  readonly memories: ReadonlyMap<string, FakeMemory>;
  /** Every applied write, in order. */
  readonly journal: readonly JournalEntry[];
  readonly requests: readonly FakeRequest[];
  /** The next requests of a call get these faults, in order; `null` lets one request succeed. */
  fail(call: FakeCall | 'any', ...faults: (FakeFault | null)[]): void;
  /** Every request of a call gets the fault until {@link clearFaults}. */
  failAlways(call: FakeCall | 'any', fault: FakeFault): void;
  /** Removes all scripted faults. */
  clearFaults(): void;
  /** Adds a memory as if another client had stored it. */
  put(memory: Partial<FakeMemory> & { readonly content: string }): FakeMemory;
  /** Removes a memory, to simulate data loss. */
  lose(id: string): void;
  /** Refuses connections; memories remain. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  /** Changes the interface on the same port, as after an upgrade of the server. */
  setDialect(dialect: FakeDialect): void;
}

const host = '127.0.0.1';

function callOf(dialect: FakeDialect, method: string, path: string): FakeCall | 'unknown' {
  if (method === 'GET' && path === '/health') return 'health';
  if (method === 'POST' && path === '/memory/add') return 'add';
  if (method === 'POST' && path === `/memory/${dialect}`) return 'search';
  if (method === 'GET' && path === '/memory/all' && dialect === 'query') return 'list';
  return method === 'GET' && /^\/memory\/[^/]+$/.test(path) ? 'get' : 'unknown';
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Starts the server on loopback. */
export async function startFakeOpenMemory(options: FakeOpenMemoryOptions = {}): Promise<FakeOpenMemory> {
  let dialect = options.dialect ?? 'query';
  const memories = createFakeMemories({
    idempotent: options.idempotent ?? false,
    ...(options.journalFile === undefined ? {} : { journalFile: options.journalFile }),
  });
  const script = createFaultScript();
  const requests: FakeRequest[] = [];
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = options.port ?? 0;

  const isAllowed = ({ headers }: FakeRequest): boolean =>
    options.apiKey === undefined ||
    headers.authorization === `Bearer ${options.apiKey}` ||
    (dialect === 'query' && headers['x-api-key'] === options.apiKey);

  const serve = async (request: FakeRequest, response: ServerResponse): Promise<void> => {
    if (request.call === 'unknown') {
      sendJson(response, 404, { error: 'no such route' });
      return;
    }
    if (request.call !== 'health' && !isAllowed(request)) {
      sendJson(response, 401, { error: 'unauthorized' });
      return;
    }
    const hitsWithMetadata = options.hitsWithMetadata ?? dialect === 'search';
    const call = { ...request, call: request.call, dialect, health: options.health, hitsWithMetadata };
    await respond(script.next(request.call), call, memories, response);
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    const body = await readBody(incoming);
    const request = { call: callOf(dialect, method, path.split('?')[0] ?? '/'), method, path, headers, body };
    requests.push(request);
    await serve(request, response);
  };

  const start = async (): Promise<void> => {
    if (server !== undefined) return;
    const own = createServer((incoming, response) => {
      handle(incoming, response).catch(() => response.destroy());
    });
    own.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      own.once('error', reject);
      own.listen(port, host, resolve);
    });
    port = (own.address() as AddressInfo).port;
    server = own;
  };

  await start();
  return {
    origin: `http://${host}:${port}`,
    memories: memories.byId,
    journal: memories.journal,
    requests,
    fail: (call, ...faults) => script.add(call, faults),
    failAlways: (call, fault) => script.always(call, fault),
    clearFaults: () => script.clear(),
    put({ content, tags = [], metadata = {}, userId = null, ...own }) {
      const memory = memories.store({ content, tags, metadata, userId, idempotencyKey: null });
      if (own.id !== undefined) memories.byId.delete(memory.id);
      const added = { ...memory, ...own };
      memories.byId.set(added.id, added);
      return added;
    },
    lose: (id) => void memories.byId.delete(id),
    async stop() {
      const own = server;
      server = undefined;
      if (own === undefined) return;
      const closed = new Promise((resolve) => own.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    start,
    setDialect(next) {
      dialect = next;
    },
  };
}
