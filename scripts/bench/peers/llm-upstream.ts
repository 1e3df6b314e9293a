/**
 * A model API with minimal cost: `/v1/messages` and `/v1/chat/completions` with a fixed answer of 1 KB, or as a
 * stream. A request with `metadata.seed` gets the bytes of that seed, cut at random and with random pauses, and their hash as
 * `x-sha256`. Sends its port over IPC and ends with its parent.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom, seededBytes } from './seeded-bytes.js';

const text = 'word '.repeat(130);
const usage = { input_tokens: 500, output_tokens: 130 };
const message = JSON.stringify({
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'claude-bench',
  content: [{ type: 'text', text: text.padEnd(760) }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
});
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const messageEvents = [
  event('message_start', { message: { id: 'msg_bench', type: 'message', role: 'assistant', content: [], usage } }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'first' } }),
  event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }) +
    event('message_stop', {}),
];
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const chatEvents = [chunk({ role: 'assistant', content: 'first' }), `${chunk({}, 'stop')}data: [DONE]\n\n`];

/** Milliseconds between the first event of a stream and the rest. */
const restMs = 5;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const asked = JSON.parse(Buffer.concat(parts).toString('utf8')) as {
    readonly stream?: boolean;
    readonly metadata?: { readonly seed?: number };
  };
  const seed = asked.metadata?.seed;
  if (seed !== undefined) return sendSeeded(seed, response);
  if (asked.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(message) });
    response.end(message);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const [first, rest] = request.url?.startsWith('/v1/messages') ? messageEvents : chatEvents;
  response.write(first);
  await sleep(restMs);
  response.end(rest);
}

async function sendSeeded(seed: number, response: ServerResponse): Promise<void> {
  const bytes = seededBytes(seed);
  const random = randomFrom(seed + 1);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-sha256': sha256 });
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + Math.floor(random() * 2_048);
    if (!response.write(bytes.subarray(at, at + size))) {
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    }
    if (response.destroyed) return;
    at += size;
    await sleep(random() * 40);
  }
  response.end();
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});
server.on('connection', (socket) => socket.setNoDelay(true));
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4_096, () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
