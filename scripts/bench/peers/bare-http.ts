/**
 * Node's HTTP server: it parses the message and always answers with the same ten memories. No server on Node can
 * answer a `tools/call` with them at a lower cost. Sends its port over IPC and ends with its parent.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const results = Array.from({ length: 10 }, (_, index) => ({
  memory_id: `mem_${String(index).padStart(26, '0')}`,
  content: `note ${index} ${'word '.repeat(38)}`,
  score: 0.5,
  space: 'private:bench',
  created_at: '2026-01-01T00:00:00.000Z',
  metadata: {},
}));
const result = { content: [{ type: 'text', text: JSON.stringify({ ok: true, results, total: results.length }) }] };

const listening = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  request.once('end', () => {
    const { id } = JSON.parse(text) as { readonly id: number };
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
    response.end(answer);
  });
}).listen(0, '127.0.0.1', () => {
  process.send?.((listening.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());
