import { Agent } from 'node:http';
import { availableParallelism, loadavg } from 'node:os';
import { openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { count, database, json, readArguments } from '../arguments.js';
import { chunkText, readEventStream, turnText } from './model/event-stream.js';
import { startRelay } from './model/http-relay.js';
import { chatBody, openModelServer, turnBody } from './model/model-server.js';
import { percentile, rounded } from './turns/figures.js';
import { openSockets } from './turns/socket.js';

/**
 * Latency that the platform adds to the first token of a streaming API, over events and over the socket, compared with a
 * direct request and one through a process that only relays bytes. The ways alternate within each round, so that noise
 * affects all of them. `hop` is the time from the API's sending to the client; `whole` from the client's request.
 */
const {
  rounds,
  json: isJson,
  database: dialect = 'sqlite',
} = readArguments(
  'npm run bench -- first-token',
  'Latency that the platform adds to the first token of a streaming API.',
  {
    rounds: count('rounds, each of every way', 300),
    database,
    json,
  },
);
const limits = { p50Ms: 1, p99Ms: 5 };
const warmUp = 30;

let sentAt = 0;
const upstream = await startFakeOpenAi();
upstream.always(
  openAi.streamsFrom(async function* () {
    sentAt = performance.now();
    yield openAi.chunk({ content: 'first' });
    yield openAi.chunk({}, 'stop');
    yield openAi.endMark;
  }),
);
const relay = await startRelay(upstream.baseUrl);
const server = await openModelServer(dialect, upstream.baseUrl);
const agent = new Agent({ keepAlive: true });
const [socket] = await openSockets(server.origin, 1);

type Ask = (round: number, onText: () => void) => Promise<unknown>;

const completions = (baseUrl: string): Ask => {
  const url = `${baseUrl}/chat/completions`;
  return (_, onText) => readEventStream({ agent, url, body: chatBody('hi'), textOf: chunkText, onText });
};
const ways: Readonly<Record<string, Ask>> = {
  direct: completions(upstream.baseUrl),
  relay: completions(relay.baseUrl),
  events: (round, onText) => {
    const url = `${server.origin}/agent/process`;
    return readEventStream({ agent, url, body: turnBody('hi', `first-${round}`), textOf: turnText, onText });
  },
  socket: async (round, onText) => socket?.ask('chat.send', { content: 'hi', session_id: `first-${round}` }, onText),
};
const hops = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
const wholes = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));

for (let round = -warmUp; round < rounds; round += 1) {
  const order = Object.entries(ways);
  // The first way rotates.
  order.unshift(...order.splice(((round % order.length) + order.length) % order.length));
  for (const [name, ask] of order) {
    const from = performance.now();
    await ask(round, () => {
      const now = performance.now();
      if (round < 0) return;
      hops.get(name)?.push(now - sentAt);
      wholes.get(name)?.push(now - from);
    });
  }
}

await socket?.close();
agent.destroy();
await server.dispose();
relay.stop();
await upstream.stop();

const figures = (times: readonly number[] = []) => ({ p50: percentile(times, 50), p99: percentile(times, 99) });
const base = figures(hops.get('relay'));
const rows = Object.keys(ways).map((name) => {
  const hop = figures(hops.get(name));
  return {
    name,
    hopP50Ms: hop.p50,
    hopP99Ms: hop.p99,
    addedP50Ms: rounded(hop.p50 - base.p50),
    addedP99Ms: rounded(hop.p99 - base.p99),
    wholeP50Ms: figures(wholes.get(name)).p50,
    wholeP99Ms: figures(wholes.get(name)).p99,
  };
});
const ok = rows.every(({ addedP50Ms, addedP99Ms }) => addedP50Ms <= limits.p50Ms && addedP99Ms <= limits.p99Ms);
const load = loadavg().map((value) => value.toFixed(1));
if (isJson) process.stdout.write(`${JSON.stringify({ rounds, database: dialect, limits, ok, load, rows })}\n`);
else {
  for (const row of rows) {
    process.stdout.write(
      `${row.name.padEnd(8)} hop p50 ${row.hopP50Ms} ms, p99 ${row.hopP99Ms} ms; over the relay ${row.addedP50Ms}, ${row.addedP99Ms}; whole p50 ${row.wholeP50Ms}, p99 ${row.wholeP99Ms}\n`,
    );
  }
  process.stdout.write(`${dialect}, ${rounds} rounds, load ${load.join(' ')} on ${availableParallelism()} cores\n`);
}
process.exitCode = ok ? 0 : 1;
