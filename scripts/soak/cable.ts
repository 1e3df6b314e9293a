import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to a server that can be cut. */
export interface Cable {
  readonly port: number;
  /** Ends all connections; new ones are ended at once. */
  cut(): void;
  mend(): void;
  dispose(): void;
}

export async function layCable(host: string, port: number): Promise<Cable> {
  const open = new Set<Socket>();
  let whole = true;
  const server = createServer((client) => {
    if (!whole) {
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
    cut() {
      whole = false;
      end();
    },
    mend() {
      whole = true;
    },
    dispose() {
      end();
      server.close();
    },
  };
}
