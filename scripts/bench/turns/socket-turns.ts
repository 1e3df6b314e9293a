import { type CpuRow, measured, percentile } from './figures.js';
import { spread } from './http-turns.js';
import type { BenchServer } from './server.js';
import { openSockets } from './socket.js';

/** Turns over the socket that answer immediately: 16 sockets, with two concurrent sessions each. */
export async function socketTurns(server: BenchServer, turns: number): Promise<CpuRow> {
  const width = 32;
  const sockets = await openSockets(server.origin, width / 2);
  const sessions = Math.max(width, Math.ceil(turns / 4));
  // In rotation, but never a session that still waits for its answer: a second send would be refused.
  const free = Array.from({ length: sessions }, (_, n) => `w${n}`);
  const ask = async (n: number): Promise<void> => {
    const socket = sockets[n % sockets.length];
    const session_id = free.shift() ?? `w${n}`;
    await socket?.ask('chat.send', { content: 'How is the harbour today?', session_id });
    free.push(session_id);
  };
  await spread(sessions * 4, width, ask);
  const latencies: number[] = [];
  const row = await measured(
    'turns over the socket',
    turns,
    server,
    () =>
      spread(turns, width, async (n) => {
        const from = performance.now();
        await ask(n);
        latencies.push(performance.now() - from);
      }),
    () => ({ p50Ms: percentile(latencies, 50), p99Ms: percentile(latencies, 99) }),
  );
  await Promise.all(sockets.map((socket) => socket.close()));
  return row;
}
