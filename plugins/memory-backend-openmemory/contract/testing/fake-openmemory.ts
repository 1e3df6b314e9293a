import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type FakeDialect, isObject } from './fake-openmemory/answers.js';
import {
  createFaultScript,
  type FakeCall,
  type FakeFault,
  type FaultScript,
  type RandomFaults,
} from './fake-openmemory/faults.js';
import { createFakeMemories, type FakeMemory, type JournalEntry } from './fake-openmemory/memories.js';
import { sendJson, sendUnder } from './fake-openmemory/send.js';

export type { FakeDialect } from './fake-openmemory/answers.js';
export type { FakeCall, FakeFault, RandomFaults } from './fake-openmemory/faults.js';
export type { FakeMemory, JournalEntry } from './fake-openmemory/memories.js';

export interface FakeOpenMemoryOptions {
  /** `query` when absent. */
  readonly dialect?: FakeDialect;
  /** Any free one when absent. */
  readonly port?: number;
  /** Everything but the health check is refused (401) without it. */
  readonly apiKey?: string;
  /** Body of the health check; the dialect's own when absent. */
  readonly health?: object;
  /** Default as on real servers: with the dialect `search`, not with `query`. */
  readonly hitsWithMetadata?: boolean;
  /** Knows an `Idempotency-Key` again. Default false, as most servers. */
  readonly idempotent?: boolean;
  /** Every applied write is appended here as a JSON line before its request is answered. */
  readonly journalFile?: string;
  readonly randomFaults?: RandomFaults;
}

/** A request as it came in. */
export interface FakeRequest {
  readonly call: FakeCall | 'unknown';
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON, or undefined. */
  readonly body: unknown;
}

/** A scripted stand-in for an OpenMemory server, on a real socket. */
export interface FakeOpenMemory {
  readonly origin: string;
  readonly memories: ReadonlyMap<string, FakeMemory>;
  /** Every write that was applied, in order. */
  readonly journal: readonly JournalEntry[];
  readonly requests: readonly FakeRequest[];
  /** Each of the next requests of a call meets one of the faults, in order; `null` lets one pass. */
  fail(call: FakeCall | 'any', ...faults: (FakeFault | null)[]): void;
  /** Every request of a call meets the fault until {@link heal}. */
  failAlways(call: FakeCall | 'any', fault: FakeFault): void;
  /** Forgets all faults that are still to come. */
  heal(): void;
  /** Puts a memory there as if it had been stored by somebody else. */
  put(memory: Partial<FakeMemory> & { readonly content: string }): FakeMemory;
  /** Removes a memory, as data loss would. */
  lose(id: string): void;
  /** From now on the connection is refused; what is stored stays. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
  /** Another interface on the same port, as after an upgrade of the server. */
  speak(dialect: FakeDialect): void;
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

/** Does what a control request asks; false when it asks for nothing that is known. */
function controlScript(script: FaultScript, path: string, body: Readonly<Record<string, unknown>>): boolean {
  const call = body.call as FakeCall | 'any';
  if (path === '/_fake/fail') script.add(call, body.faults as FakeFault[]);
  else if (path === '/_fake/fail-always') script.always(call, body.fault as FakeFault);
  else if (path === '/_fake/heal') script.clear();
  else return false;
  return true;
}

/** Starts the server on loopback. */
export async function startFakeOpenMemory(options: FakeOpenMemoryOptions = {}): Promise<FakeOpenMemory> {
  let dialect = options.dialect ?? 'query';
  const memories = createFakeMemories({
    idempotent: options.idempotent ?? false,
    ...(options.journalFile === undefined ? {} : { journalFile: options.journalFile }),
  });
  const script = createFaultScript(options.randomFaults);
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
    const asked = { ...request, call: request.call, dialect, health: options.health, hitsWithMetadata };
    await sendUnder(script.next(request.call), asked, memories, response);
  };

  /** For tests that run the server in a process of its own. */
  const control = (path: string, body: unknown, response: ServerResponse): void => {
    if (path === '/_fake/journal') sendJson(response, 200, memories.journal);
    else if (path === '/_fake/memories') sendJson(response, 200, [...memories.byId.values()]);
    else {
      const known = controlScript(script, path, isObject(body) ? body : {});
      sendJson(response, known ? 200 : 404, { ok: known });
    }
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    const body = await readBody(incoming);
    if (path.startsWith('/_fake/')) {
      control(path, body, response);
      return;
    }
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
    heal: () => script.clear(),
    put({ content, tags = [], metadata = {}, userId = null, ...own }) {
      const memory = memories.store({ content, tags, metadata, userId, idempotencyKey: null });
      if (own.id !== undefined) memories.byId.delete(memory.id);
      const kept = { ...memory, ...own };
      memories.byId.set(kept.id, kept);
      return kept;
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
    speak(next) {
      dialect = next;
    },
  };
}

/** `reset=0.01,merge=0.005` */
function ratesOf(text: string): Record<string, number> {
  return Object.fromEntries(
    text
      .split(',')
      .filter((part) => part !== '')
      .map((part) => {
        const [name = '', rate = ''] = part.split('=');
        return [name.trim(), Number(rate)];
      }),
  );
}

/** `node fake-openmemory.js --port 0 --dialect query --journal file --seed 1 --faults reset=0.01,truncate=0.01` */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      dialect: { type: 'string', default: 'query' },
      'api-key': { type: 'string' },
      journal: { type: 'string' },
      seed: { type: 'string', default: '1' },
      faults: { type: 'string', default: '' },
      idempotent: { type: 'boolean', default: false },
    },
  });
  const fake = await startFakeOpenMemory({
    port: Number(values.port),
    dialect: values.dialect === 'search' ? 'search' : 'query',
    idempotent: values.idempotent,
    randomFaults: { seed: Number(values.seed), rates: ratesOf(values.faults) },
    ...(values['api-key'] === undefined ? {} : { apiKey: values['api-key'] }),
    ...(values.journal === undefined ? {} : { journalFile: values.journal }),
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void fake.stop());
  process.stdout.write(`fake OpenMemory listens on ${fake.origin}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
