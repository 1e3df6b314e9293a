import { connect, createServer, type Server, type Socket } from 'node:net';

/** A way to the database that can be cut. */
export interface Cable {
  readonly port: number;
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export async function layCable(host: string, port: number): Promise<Cable> {
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
    async cut() {
      const closed = new Promise((done) => server.close(done));
      for (const socket of open) socket.destroy();
      await closed;
    },
    mend: () => listen(own),
  };
}
