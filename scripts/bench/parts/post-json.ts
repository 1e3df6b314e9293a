import { Agent, request } from 'node:http';

interface JsonAnswer {
  readonly status: number;
  readonly text: string;
}

/** Posts JSON over kept-alive connections. */
export interface JsonPoster {
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<JsonAnswer>;
  get(path: string): Promise<JsonAnswer>;
  close(): void;
}

export function createPoster(origin: string, connections: number): JsonPoster {
  const { hostname, port } = new URL(origin);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = (
    method: string,
    path: string,
    data: string,
    headers: Readonly<Record<string, string | number>>,
  ): Promise<JsonAnswer> =>
    new Promise((resolve, reject) => {
      const sent = request({ agent, hostname, port, path, method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.once('error', reject);
      });
      sent.once('error', reject);
      sent.end(data);
    });
  return {
    post(path, body, headers = {}) {
      const data = JSON.stringify(body);
      const own = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) };
      return send('POST', path, data, { ...own, ...headers });
    },
    get: (path) => send('GET', path, '', {}),
    close: () => agent.destroy(),
  };
}
