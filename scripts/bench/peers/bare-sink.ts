/**
 * A memory backend that stores nothing: it answers each memory with an id, and counts. `POST /memory/add` accepts one,
 * `POST /many` a list. Sends its port over IPC, answers every message with its count, and ends with its parent.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

let taken = 0;

function nextId(): string {
  taken += 1;
  return `sink-${taken}`;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

async function answer(request: IncomingMessage): Promise<object> {
  const body = await bodyOf(request);
  if (request.url === '/memory/add') return { id: nextId() };
  if (request.url === '/many') return { ids: (body as readonly unknown[]).map(nextId) };
  if (request.url === '/memory/query') return { matches: [] };
  return { ok: true };
}

const listening = createServer((request, response) => {
  void answer(request).then((body) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
}).listen(0, '127.0.0.1', () => process.send?.((listening.address() as AddressInfo).port));
process.on('message', () => process.send?.(taken));
process.on('disconnect', () => process.exit());
