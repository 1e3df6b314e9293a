import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to a server whose connections can be interrupted. */
interface Proxy {
  readonly port: number;
  /** Closes all connections, and refuses new ones. */
  interrupt(): void;
  restore(): void;
  dispose(): void;
}

export async function openProxy(host: string, port: number): Promise<Proxy> {
  const open = new Set<Socket>();
  let isForwarding = true;
  const server = createServer((client) => {
    if (!isForwarding) {
      client.destroy();
      return;
    }
    const upstream = connect(port, host);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    interrupt() {
      isForwarding = false;
      end();
    },
    restore() {
      isForwarding = true;
    },
    dispose() {
      end();
      server.close();
    },
  };
}
