import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type CpuRow, measured, percentile } from './figures.js';
import type { BenchServer } from './server.js';

interface TurnLoad {
  readonly turns: number;
  readonly concurrency: number;
  /** Earlier turns of each chat. */
  readonly earlier: number;
}

/** Turns over `POST /agent/process` that answer immediately, in many concurrent sessions. */
export async function httpTurns(server: BenchServer, { turns, concurrency, earlier }: TurnLoad): Promise<CpuRow> {
  const client = clientOf(server, concurrency);
  const sessions = Math.max(concurrency, Math.ceil(turns / 4));
  try {
    await spread(sessions * earlier, concurrency, (n) => ask(client, n % sessions));
    const latencies: number[] = [];
    return await measured(
      'turns over HTTP',
      turns,
      server,
      () =>
        spread(turns, concurrency, async (n) => {
          const from = performance.now();
          await ask(client, n % sessions);
          latencies.push(performance.now() - from);
        }),
      () => ({ p50Ms: percentile(latencies, 50), p99Ms: percentile(latencies, 99) }),
    );
  } finally {
    client.agent.destroy();
  }
}

/** Sequential turns of one chat. @returns the median, milliseconds */
export async function chatTurns(server: BenchServer, sessionId: string, turns: number): Promise<number> {
  const client = clientOf(server, 1);
  const latencies: number[] = [];
  try {
    for (let turn = 0; turn < turns; turn += 1) {
      const from = performance.now();
      await ask(client, sessionId);
      latencies.push(performance.now() - from);
    }
  } finally {
    client.agent.destroy();
  }
  return percentile(latencies, 50);
}

interface Client {
  readonly agent: Agent;
  readonly port: string;
}

function clientOf({ origin }: BenchServer, connections: number): Client {
  return { agent: new Agent({ keepAlive: true, maxSockets: connections }), port: new URL(origin).port };
}

async function ask({ agent, port }: Client, session: number | string): Promise<void> {
  const body = JSON.stringify({
    session_id: `s${session}`,
    user_id: 'bench',
    channel: 'console',
    input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'How is the harbour today?' }] }],
  });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const sent = request({ agent, port, host: '127.0.0.1', method: 'POST', path: '/agent/process', headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${answer}`);
}

/** Runs `count` calls, `width` at a time. */
export async function spread(count: number, width: number, run: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await run(n);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}
