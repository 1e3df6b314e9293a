import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from 'mortise/sdk';
import { type WebSocket, WebSocketServer } from 'ws';

interface SentMessage {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: JsonObject;
}

/** A connected bot, as the platform sees it. */
interface FakeConnection {
  /** Frames of the bot, in order. */
  readonly frames: JsonObject[];
  readonly socket: WebSocket;
}

type Answer = (response: ServerResponse) => void;

/**
 * QQ's open platform on a loopback port: token, gateway and message endpoints, and the websocket with identify, resume
 * and heartbeats.
 */
export class FakeQq {
  readonly credentials = { app_id: 'app-1', client_secret: 'mortise-test-secret' };
  /** Requests for a token, by their body. */
  readonly tokenRequests: JsonObject[] = [];
  readonly messages: SentMessage[] = [];
  readonly connections: FakeConnection[] = [];
  /** Answers for the next requests of an endpoint, in place of its own. */
  readonly script: Record<'token' | 'gateway' | 'message', Answer[]> = { token: [], gateway: [], message: [] };
  /** `expires_in` of new tokens. */
  expiresIn: unknown = '7200';
  heartbeatMs = 60_000;
  /** Whether heartbeats are acknowledged, and hello and READY sent. */
  acknowledges = true;
  greets = true;
  confirms = true;
  /** Intents that the bot may use; identify with others is an invalid session. */
  allowedIntents: number | undefined;
  #tokens = 0;
  #sequence = 0;
  readonly #validTokens = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #events: { readonly s: number; readonly frame: string }[] = [];
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  #sessionId = 'session-1';

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#sockets = new WebSocketServer({ server: this.#server });
    this.#sockets.on('connection', (socket) => this.#connected(socket));
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The configuration of a channel that talks to this platform. */
  get config(): JsonObject {
    return {
      enabled: true,
      ...this.credentials,
      api_base: this.origin,
      token_url: `${this.origin}/token`,
      inbound_enabled: false,
    };
  }

  get connection(): FakeConnection | undefined {
    return this.connections.at(-1);
  }

  /** Frames of the current connection with an opcode. */
  framesOf(op: number, connection = this.connection): readonly JsonObject[] {
    return connection?.frames.filter((frame) => frame.op === op) ?? [];
  }

  /** No token that was issued so far is accepted any more. */
  expireTokens(): void {
    this.#validTokens.clear();
  }

  /** The session of the bot is forgotten: a resume is refused. */
  forgetSession(): void {
    this.#sessionId = `session-${this.connections.length + 1}-new`;
    this.#events.length = 0;
  }

  /** Sends an event to the connected bot, and again to one that resumes from before it. */
  event(t: string, d: JsonObject): void {
    this.#sequence += 1;
    const frame = JSON.stringify({ op: 0, s: this.#sequence, t, d });
    this.#events.push({ s: this.#sequence, frame });
    this.connection?.socket.send(frame);
  }

  send(frame: JsonObject | string): void {
    this.connection?.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  reset(): void {
    for (const list of [this.tokenRequests, this.messages, ...Object.values(this.script)]) list.length = 0;
    this.#seen.clear();
    Object.assign(this, { expiresIn: '7200', heartbeatMs: 60_000, acknowledges: true, greets: true, confirms: true });
    this.allowedIntents = undefined;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#sockets.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { url: path = '', headers } = request;
    const text = Buffer.concat(chunks).toString();
    const body = (text === '' ? {} : JSON.parse(text)) as JsonObject;
    const { authorization } = headers;
    const endpoint = path === '/token' ? 'token' : path === '/gateway' ? 'gateway' : 'message';
    if (endpoint === 'token') this.tokenRequests.push(body);
    if (endpoint === 'message') this.messages.push({ path, authorization, body });
    const scripted = this.script[endpoint].shift();
    if (scripted) return scripted(response);
    if (endpoint === 'token') return this.#issue(body, response);
    if (!this.#validTokens.has(authorization?.replace('QQBot ', '') ?? '')) {
      return reply(response, 401, { code: 11_244, message: 'token not exist or expire' });
    }
    if (endpoint === 'gateway') return reply(response, 200, { url: this.origin.replace('http', 'ws') });
    const key = JSON.stringify([path, body.msg_id, body.msg_seq]);
    if (body.msg_seq !== undefined && this.#seen.has(key)) return reply(response, 400, { code: 40_054_005 });
    this.#seen.add(key);
    reply(response, 200, { id: `out-${this.messages.length}` });
  }

  #issue({ appId, clientSecret }: JsonObject, response: ServerResponse): void {
    if (appId === this.credentials.app_id && clientSecret === this.credentials.client_secret) {
      this.#tokens += 1;
      this.#validTokens.add(`token-${this.#tokens}`);
      reply(response, 200, { access_token: `token-${this.#tokens}`, expires_in: this.expiresIn });
    } else {
      reply(response, 200, { code: 100_016, message: 'invalid appid or secret' });
    }
  }

  #connected(socket: WebSocket): void {
    const connection: FakeConnection = { frames: [], socket };
    this.connections.push(connection);
    socket.on('message', (data) => {
      const frame = JSON.parse(data.toString()) as JsonObject;
      connection.frames.push(frame);
      this.#received(frame, socket);
    });
    if (this.greets) socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: this.heartbeatMs } }));
  }

  #received({ op, d }: JsonObject, socket: WebSocket): void {
    const data = d as JsonObject | null;
    if (op === 1 && this.acknowledges) socket.send('{"op":11}');
    if (op !== 2 && op !== 6) return;
    if (!this.#validTokens.has(String(data?.token).replace('QQBot ', ''))) socket.close(4004);
    else if (!this.confirms) return;
    else if (op === 2) this.#identified(data?.intents, socket);
    else this.#resumed(data, socket);
  }

  #identified(intents: unknown, socket: WebSocket): void {
    if (this.allowedIntents !== undefined && intents !== this.allowedIntents) {
      socket.send('{"op":9,"d":false}');
      return;
    }
    this.#sequence += 1;
    const d = { session_id: this.#sessionId, user: { bot: true } };
    socket.send(JSON.stringify({ op: 0, s: this.#sequence, t: 'READY', d }));
  }

  #resumed(data: JsonObject | null, socket: WebSocket): void {
    if (data?.session_id !== this.#sessionId) {
      socket.send('{"op":9,"d":false}');
      return;
    }
    for (const { s, frame } of this.#events) if (s > Number(data?.seq)) socket.send(frame);
    socket.send(JSON.stringify({ op: 0, s: this.#sequence, t: 'RESUMED', d: '' }));
  }
}

function reply(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers with a status. */
export const status =
  (code: number, body: JsonObject = {}, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(JSON.stringify(body));

/** Ends the connection without an answer. */
export const hangUp: Answer = (response) => void response.socket?.destroy();

/** Never answers. */
export const silence: Answer = () => undefined;
