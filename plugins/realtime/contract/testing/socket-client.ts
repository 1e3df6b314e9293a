import { once } from 'node:events';
import { until } from 'mortise/sdk/testing';
import { type ClientOptions, WebSocket } from 'ws';

/** Data of the frames that tests look at; absent members belong to other types of frames, error frames have none at all. */
export interface FrameData {
  readonly content: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly sessions: readonly Readonly<Record<string, unknown>>[];
  readonly [member: string]: unknown;
}

export interface Frame {
  readonly type: string;
  readonly id: string;
  readonly data: FrameData;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly correlation_id: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** A client that keeps every frame in the order it came. */
export class SocketClient {
  readonly frames: Frame[] = [];
  readonly socket: WebSocket;
  /** Set once the socket is closed. */
  closed: { readonly code: number; readonly reason: string } | undefined;
  readonly #arrivals = new Map<string, number[]>();
  #next = 1;

  constructor(origin: string, options: ClientOptions = {}) {
    this.socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`, options);
    this.socket.on('message', (text) => {
      const frame = JSON.parse(String(text)) as Frame;
      this.frames.push(frame);
      const times = this.#arrivals.get(frame.id) ?? [];
      times.push(performance.now());
      this.#arrivals.set(frame.id, times);
    });
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
    });
    this.socket.on('error', () => undefined);
  }

  static async open(origin: string, options: ClientOptions = {}): Promise<SocketClient> {
    const client = new SocketClient(origin, options);
    await once(client.socket, 'open');
    return client;
  }

  raw(text: string | Buffer): void {
    this.socket.send(text);
  }

  /** Sends a request. @returns its id. */
  request(method: string, params: object = {}, id = `r-${this.#next++}`): string {
    this.raw(JSON.stringify({ type: 'request', id, method, params }));
    return id;
  }

  /** Sends a request and waits for all its frames. */
  async ask(method: string, params: object = {}, id?: string): Promise<Frame[]> {
    return this.end(this.request(method, params, id));
  }

  /** The data of a request's one response. */
  async answer(method: string, params: object = {}): Promise<FrameData> {
    const [frame] = await this.ask(method, params);
    if (frame?.type !== 'response') throw new Error(`no response: ${JSON.stringify(frame)}`);
    return frame.data;
  }

  of(id: string): Frame[] {
    return this.frames.filter((frame) => frame.id === id);
  }

  /** Waits for the last frame of a request. */
  async end(id: string, ms = 10_000): Promise<Frame[]> {
    await until(`the end of ${id} (so far ${JSON.stringify(this.of(id))})`, () => this.of(id).some(isLast), ms);
    return this.of(id);
  }

  arrivals(id: string): readonly number[] {
    return this.#arrivals.get(id) ?? [];
  }

  async close(): Promise<void> {
    this.socket.close();
    await until('the socket to close', () => this.closed !== undefined);
  }
}

export function isLast(frame: Frame): boolean {
  return frame.type === 'error' || frame.type === 'response' || frame.data?.done === true;
}

/** What a request showed, joined. */
export function textOf(frames: readonly Frame[]): string {
  return frames.map((frame) => (frame.type === 'stream_chunk' ? frame.data.content : '')).join('');
}

export function chunks(frames: readonly Frame[]): string[] {
  return frames.filter(({ type, data }) => type === 'stream_chunk' && !data.done).map(({ data }) => data.content);
}

export function kinds(frames: readonly Frame[]): string[] {
  return frames.map((frame) =>
    frame.data?.done ? 'done' : frame.type === 'error' ? `${frame.error?.code}` : frame.type,
  );
}
