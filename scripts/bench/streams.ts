import { Agent, type IncomingMessage } from 'node:http';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { count, database, folder, json, readArguments } from '../arguments.js';
import { readEventStream, turnText } from './model/event-stream.js';
import { openModelServer, turnBody } from './model/model-server.js';
import { randomFrom, type ScriptedText, scriptText, streamTexts } from './model/scripted-texts.js';
import { measured, percentile } from './turns/figures.js';
import { openSockets } from './turns/socket.js';

/**
 * Many concurrent streams of an API, half of them read as events and half over sockets, with a fifth of the event readers
 * slow. All are open before the first token is sent. Reports answers that differ from the text the API sent; none may.
 */
const values = readArguments(
  'npm run bench -- streams',
  'Many concurrent streams of an API, each compared with its text.',
  {
    streams: count('streams', 2_000),
    tokens: count('tokens of a stream', 50),
    pace: count('milliseconds between two tokens of a stream, on the average', 2_000),
    sockets: count('sockets that half of the streams share', 100),
    database,
    profile: folder('write CPU profiles of the server there'),
    json,
  },
);
const { streams, tokens } = values;
const slowShare = 0.2;
/** Limit of concurrent requests to the API. */
const opening = 32;

const texts = Array.from({ length: streams }, (_, n) => scriptText(n + 1, tokens));
const upstream = await startFakeOpenAi();
const nameOf = (body: unknown) => Number((body as { messages: { content: string }[] }).messages.at(-1)?.content);
const script = streamTexts(texts, nameOf, { open: streams, paceMs: values.pace });
upstream.always(script.answer);
const server = await openModelServer(values.database ?? 'sqlite', upstream.baseUrl, values.profile);
const agent = new Agent({ keepAlive: true, maxSockets: streams });
const sockets = await openSockets(server.origin, values.sockets);
const url = `${server.origin}/agent/process`;

const relayMs: number[] = [];
let wrong = 0;
const failures = new Map<string, number>();

/** Checks each piece against the text on arrival, and times the tokens that it completes. */
function reader({ text, ends, sentAt }: ScriptedText, isTimed: boolean) {
  let at = 0;
  let token = 0;
  let isRight = true;
  return {
    read(piece: string): void {
      isRight &&= text.startsWith(piece, at);
      at += piece.length;
      const now = performance.now();
      for (; (ends[token] ?? Number.POSITIVE_INFINITY) <= at; token += 1) {
        if (isTimed) relayMs.push(now - (sentAt[token] ?? Number.NaN));
      }
    },
    end: (): boolean => isRight && at === text.length,
  };
}

/** Pauses repeatedly. */
function readSlowly(answer: IncomingMessage, seed: number): void {
  const random = randomFrom(seed);
  const rest = setInterval(() => {
    answer.pause();
    setTimeout(() => answer.resume(), random() * 300);
  }, 400);
  answer.once('close', () => clearInterval(rest));
}

async function stream(text: ScriptedText, n: number): Promise<void> {
  const isSlow = n % 2 === 0 && randomFrom(n)() < slowShare;
  const { read, end } = reader(text, !isSlow);
  const session = `stream-${n}`;
  try {
    if (n % 2 === 0) {
      const onOpen = isSlow ? (answer: IncomingMessage) => readSlowly(answer, n) : undefined;
      const body = turnBody(String(n), session);
      await readEventStream({ agent, url, body, textOf: turnText, onText: read, ...(onOpen ? { onOpen } : {}) });
    } else {
      await sockets[(n >> 1) % sockets.length]?.ask('chat.send', { content: String(n), session_id: session }, read);
    }
    if (!end()) wrong += 1;
  } catch (error) {
    const { message } = error as Error;
    failures.set(message, (failures.get(message) ?? 0) + 1);
    // The others must not wait for a stream that failed to open.
    script.begin();
  }
}

/** Opens the streams as fast as the server accepts them, without flooding it. */
async function startAll(): Promise<readonly Promise<void>[]> {
  const running: Promise<void>[] = [];
  for (const [n, text] of texts.entries()) {
    running.push(stream(text, n));
    while (running.length - script.arrived >= opening && failures.size === 0) await sleep(2);
  }
  return running;
}

const row = await measured(
  'streams of an API',
  streams * tokens,
  server,
  async () => {
    await Promise.all(await startAll());
  },
  () => ({
    streams,
    tokens,
    wrong,
    ...Object.fromEntries([...failures].map(([message, count]) => [`failed: ${message}`, count])),
    relayP50Ms: percentile(relayMs, 50),
    relayP99Ms: percentile(relayMs, 99),
  }),
);
await Promise.all(sockets.map((socket) => socket.close()));
agent.destroy();
await server.dispose();
await upstream.stop();

const load = loadavg().map((value) => value.toFixed(1));
if (values.json) process.stdout.write(`${JSON.stringify({ load, ...row })}\n`);
else {
  const shown = Object.entries(row).map(([figure, value]) => `${figure} ${value}`);
  process.stdout.write(`${shown.join(', ')}\nload ${load.join(' ')} on ${availableParallelism()} cores\n`);
}
process.exitCode = wrong === 0 && failures.size === 0 ? 0 : 1;
