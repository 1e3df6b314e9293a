/**
 * The minimum cost of a gateway on Node: it relays each request with undici, and the bytes of the answer. Takes the
 * address of the API as its argument, sends its port over IPC and ends with its parent.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, stream } from 'undici';

const target = process.argv[2] ?? '';
const dispatcher = new Agent();

const server = createServer((incoming, outgoing) => {
  const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = incoming.headers;
  const options = { method: 'POST' as const, headers, body: incoming, dispatcher };
  stream(`${target}${incoming.url}`, options, ({ statusCode, headers: received }) => {
    const { connection: ____, 'transfer-encoding': _____, ...own } = received;
    outgoing.writeHead(statusCode, own as Record<string, string>);
    return outgoing;
  }).catch(() => outgoing.destroy());
});
server.on('connection', (socket) => socket.setNoDelay(true));
server.listen(0, '127.0.0.1', 4_096, () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
