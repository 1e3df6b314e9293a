import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as its bytes arrived. */
export interface RawUpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Names as sent, with their values, in order. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Settles when the connection closes before the answer is complete. */
  readonly left: Promise<void>;
}

/** Writes the answer itself, byte for byte. */
export type RawUpstreamScript = (request: RawUpstreamRequest, response: ServerResponse) => void | Promise<void>;

/** A server for raw exchanges: it records bytes and answers with a script. */
export interface RawUpstream {
  readonly origin: string;
  readonly requests: readonly RawUpstreamRequest[];
  script(script: RawUpstreamScript): void;
  stop(): Promise<void>;
}

export async function startRawUpstream(): Promise<RawUpstream> {
  const requests: RawUpstreamRequest[] = [];
  let script: RawUpstreamScript = (_, response) => void response.writeHead(500).end();
  const server = createServer((incoming, response) => {
    void receive(incoming, response).then(
      async (request) => {
        requests.push(request);
        await script(request, response);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    script(next) {
      requests.length = 0;
      script = next;
    },
    stop: () => close(server),
  };
}

async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<RawUpstreamRequest> {
  const left = new Promise<void>((resolve) => {
    response.once('close', () => {
      if (!response.writableFinished) resolve();
    });
  });
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method = '', url = '', rawHeaders, headers } = incoming;
  return { method, path: url, rawHeaders, headers, body: Buffer.concat(chunks), left };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
