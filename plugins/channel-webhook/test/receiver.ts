import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server that records what it receives and answers by a script. */
export class Receiver {
  readonly received: ReceivedRequest[] = [];
  /** Answers for the next requests, in order; 204 afterwards. */
  readonly script: ((response: ServerResponse) => void)[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        this.received.push({ method, path, headers, body: Buffer.concat(chunks).toString() });
        const answer = this.script.shift();
        if (answer) answer(response);
        else response.writeHead(204).end();
      });
    });
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/replies`;
  }

  reset(): void {
    this.received.length = 0;
    this.script.length = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Answers with a status. */
export const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(code, headers).end('x');

/** Ends the connection without an answer. */
export const hangUp = (response: ServerResponse): void => void response.socket?.destroy();

/** Never answers. */
export const silence = (): void => undefined;
