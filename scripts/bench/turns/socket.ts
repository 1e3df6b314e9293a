import { once } from 'node:events';
import { WebSocket } from 'ws';

interface Frame {
  readonly type: string;
  readonly id: string;
  readonly data?: { readonly content?: string; readonly done?: boolean };
  readonly error?: { readonly code: string };
}

/** A client of the socket that passes each frame to its request. */
class BenchSocket {
  readonly #socket: WebSocket;
  readonly #requests = new Map<string, (frame: Frame) => void>();
  /** Pending requests fail when the socket closes. */
  readonly #waiting = new Set<(error: Error) => void>();
  #next = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (text: Buffer) => {
      const frame = JSON.parse(text.toString()) as Frame;
      this.#requests.get(frame.id)?.(frame);
    });
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      for (const fail of this.#waiting) fail(new Error(`socket closed with ${code}`));
    });
  }

  static async open(origin: string): Promise<BenchSocket> {
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`);
    await once(socket, 'open');
    return new BenchSocket(socket);
  }

  /** Sends a request; resolves with its last frame. `onText` sees each piece of the answer. */
  ask(method: string, params: object, onText: (text: string) => void = () => undefined): Promise<Frame> {
    this.#next += 1;
    const id = String(this.#next);
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      this.#requests.set(id, (frame) => {
        if (frame.type === 'stream_chunk' && frame.data?.done === false) {
          onText(frame.data.content ?? '');
          return;
        }
        this.#requests.delete(id);
        this.#waiting.delete(reject);
        if (frame.error) reject(new Error(frame.error.code));
        else resolve(frame);
      });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}

export async function openSockets(origin: string, count: number): Promise<readonly BenchSocket[]> {
  return Promise.all(Array.from({ length: count }, () => BenchSocket.open(origin)));
}
