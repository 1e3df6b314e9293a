import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy to the database that can be disconnected. */
export interface DatabaseProxy {
  readonly port: number;
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
}

export async function startDatabaseProxy(host: string, port: number): Promise<DatabaseProxy> {
  const open = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = connect(port, host);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {}).on('close', () => open.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  const listen = (at: number) => new Promise<void>((done) => server.listen(at, '127.0.0.1', done));
  await listen(0);
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port: own,
    async disconnect() {
      const closed = new Promise((done) => server.close(done));
      for (const socket of open) socket.destroy();
      await closed;
    },
    reconnect: () => listen(own),
  };
}
