import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { reset, type ScriptedAnswer, type UpstreamAnswer, type UpstreamRequest } from './answers.js';

export interface UpstreamOptions {
  /** Path of the base URL for clients, such as `/v1`. */
  readonly basePath?: string;
  /** Refuses requests that the API refuses regardless of the script: an unknown path, a wrong key. */
  readonly refuse?: (request: UpstreamRequest) => ScriptedAnswer | undefined;
  /** The answer to requests beyond the script. */
  readonly nothingScripted: ScriptedAnswer;
}

/** A scripted fake of a model API, on a real socket: it writes exactly the bytes of the script. */
export interface Upstream {
  /** The base URL for clients. */
  readonly baseUrl: string;
  /** Every request so far. */
  readonly requests: readonly UpstreamRequest[];
  /** Each of the next requests gets one of the answers, in order. */
  answer(...answers: UpstreamAnswer[]): void;
  /** The answer to requests beyond the script; an error by default. */
  always(answer: UpstreamAnswer): void;
  /** Clears answers and requests. */
  clear(): void;
  /** Closes the server: later connections are refused. */
  stop(): Promise<void>;
}

const host = '127.0.0.1';

interface Arrived extends UpstreamRequest {
  left: boolean;
}

/** Starts the server on loopback. */
export async function startUpstream({ basePath = '', refuse, nothingScripted }: UpstreamOptions): Promise<Upstream> {
  const requests: UpstreamRequest[] = [];
  const script: UpstreamAnswer[] = [];
  const sockets = new Map<Socket, number>();
  let otherwise: UpstreamAnswer = nothingScripted;
  let connections = 0;

  const answerTo = (request: UpstreamRequest): ScriptedAnswer => {
    const refusal = refuse?.(request);
    if (refusal) return refusal;
    requests.push(request);
    let answer = script.shift() ?? otherwise;
    while (typeof answer === 'function') answer = answer(request);
    return answer;
  };

  const server = createServer((incoming, response) => {
    arrived(incoming, response, sockets.get(incoming.socket) ?? 0)
      .then((request) => send(answerTo(request), response))
      .catch(() => response.destroy());
  });
  server.on('connection', (socket) => {
    socket.setNoDelay(true);
    connections += 1;
    sockets.set(socket, connections);
    socket.on('close', () => sockets.delete(socket));
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;

  return {
    baseUrl: `http://${host}:${port}${basePath}`,
    requests,
    answer: (...answers) => void script.push(...answers),
    always(answer) {
      otherwise = answer;
    },
    clear() {
      requests.length = 0;
      script.length = 0;
      otherwise = nothingScripted;
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets.keys()) socket.destroy();
      await closed;
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
}

async function arrived(incoming: IncomingMessage, response: ServerResponse, connection: number): Promise<Arrived> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const bytes = Buffer.concat(parts);
  const { promise: leaving, resolve } = Promise.withResolvers<void>();
  const { method = 'GET', url: path = '/', headers } = incoming;
  const request: Arrived = {
    method,
    path,
    headers,
    body: parsed(bytes),
    bytes,
    connection,
    left: false,
    leaving,
  };
  response.once('close', () => {
    if (response.writableFinished) return;
    request.left = true;
    resolve();
  });
  return request;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Sends the head with the first piece, so that the connection can be cut before any answer. */
async function send({ status = 200, headers, body }: ScriptedAnswer, response: ServerResponse): Promise<void> {
  for await (const piece of body) {
    if (piece === reset) {
      response.socket?.resetAndDestroy();
      return;
    }
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(status, headers);
    if (piece.length === 0) response.flushHeaders();
    else await written(response, piece);
  }
  if (!response.headersSent) response.writeHead(status, headers);
  response.end();
}

/** Waits until the bytes are written, so that two pieces are two packets. */
function written(response: ServerResponse, piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => response.write(piece, () => resolve()));
}

/** Lets a scripted answer wait until the test opens it. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
