import { type CpuRow, measured, percentile } from './figures.js';
import type { BenchServer } from './server.js';
import { openSockets } from './socket.js';

/**
 * A model that streams `tokens` numbered tokens, cut at random, with the time of sending (nanoseconds of the monotonic
 * clock) before each piece: `{"seed":1,"tokens":200}`.
 */
export const streamingModel = `
const random = (seed) => () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
export default () => ({
  key: 'bench-model',
  register(host) {
    host.contribute('provider', 'demo', {
      ...host.facts('provider', 'demo'),
      async *generate({ messages }) {
        const { seed, tokens } = JSON.parse(messages.at(-1).content);
        const next = random(seed);
        for (let at = 0; at < tokens; ) {
          const count = 1 + Math.floor(next() * 3);
          let text = process.hrtime.bigint() + '|';
          for (let i = 0; i < count && at < tokens; i += 1, at += 1) text += at + ';';
          yield { type: 'content_delta', text };
          if (next() < 0.5) await new Promise((resolve) => setTimeout(resolve, next() * 20));
        }
        yield { type: 'done' };
      },
    });
  },
});`;

interface StreamLoad {
  readonly streams: number;
  readonly sockets: number;
  readonly tokens: number;
}

/** Many concurrent streams. Reports tokens that were lost, duplicated or out of order; none may be. */
export async function streamTokens(server: BenchServer, { streams, sockets, tokens }: StreamLoad): Promise<CpuRow> {
  const open = await openSockets(server.origin, sockets);
  const relay: number[] = [];
  let wrong = 0;
  const one = async (n: number): Promise<void> => {
    let expected = 0;
    const content = JSON.stringify({ seed: n + 1, tokens });
    await open[n % open.length]?.ask('chat.send', { content, session_id: `stream-${n}` }, (piece) => {
      const now = process.hrtime.bigint();
      // A slow reader gets several pieces in one frame, each with a time.
      for (const token of piece.split(';').filter((part) => part !== '')) {
        const [stamp, number = stamp] = token.split('|');
        if (number !== stamp && stamp !== undefined) relay.push(Number(now - BigInt(stamp)) / 1e6);
        if (Number(number) !== expected) wrong += 1;
        expected += 1;
      }
    });
    if (expected !== tokens) wrong += Math.abs(tokens - expected);
  };
  const row = await measured(
    'streamed tokens',
    streams * tokens,
    server,
    async () => {
      await Promise.all(Array.from({ length: streams }, (_, n) => one(n)));
    },
    () => ({ streams, wrong, relayP50Ms: percentile(relay, 50), relayP99Ms: percentile(relay, 99) }),
  );
  await Promise.all(open.map((socket) => socket.close()));
  return row;
}
