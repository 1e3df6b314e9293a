import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A process that only relays requests to the API and their answers: the minimum cost of a gateway. */
interface HttpRelay {
  readonly baseUrl: string;
  stop(): void;
}

export async function startRelay(baseUrl: string): Promise<HttpRelay> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [baseUrl]);
  const [port] = (await once(child, 'message')) as [number];
  return { baseUrl: `http://127.0.0.1:${port}/v1`, stop: () => void child.kill() };
}

function serve(target: URL): void {
  process.once('disconnect', () => process.exit());
  const agent = new Agent({ keepAlive: true, maxSockets: 4_096 });
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const onward = request({ agent, host: target.hostname, port: target.port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.on('connection', (socket) => socket.setNoDelay(true));
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) serve(new URL(process.argv[2] ?? ''));
