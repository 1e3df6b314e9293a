import { Agent, request } from 'node:http';
import { median, percentile } from '../parts/closed-loop.js';
import type { Figure, MeasureOptions } from '../parts/measure.js';
import { type Gateways, messageBody } from './gateways.js';

interface Way {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Streams per round and way. */
const streams = 200;

/** M3: latency that a gateway adds to the first text of a stream, passed through and translated. The ways alternate. */
export async function measureFirstEvent(
  { all }: Gateways,
  { rounds, say }: MeasureOptions,
): Promise<readonly Figure[]> {
  const agent = new Agent({ keepAlive: true });
  const possible: Way[] = all.flatMap(({ name, origin, headers }) => {
    const own = name === 'mortise';
    const body = JSON.stringify(messageBody({ stream: true }, own ? 'anthropic/claude-bench' : 'claude-bench'));
    const way = { name, url: `${origin}/v1/messages`, headers, body };
    if (!own) return [way];
    return [
      way,
      { ...way, name: 'mortise, translated', body: JSON.stringify(messageBody({ stream: true }, 'bench/gpt-bench')) },
    ];
  });
  const ways: Way[] = [];
  for (const way of possible) {
    // A peer may not understand the stream of the API.
    const problem = await firstText(agent, way).then(() => undefined, String);
    if (problem === undefined) ways.push(way);
    else if (way.name.startsWith('mortise')) throw new Error(problem);
    else say(`first event: ${way.name} is left out: ${problem}`);
  }
  const medians = new Map(ways.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round += 1) {
    const times = new Map(ways.map(({ name }) => [name, [] as number[]]));
    for (let number = 0; number < streams; number += 1) {
      for (const way of ways) times.get(way.name)?.push(await firstText(agent, way));
    }
    for (const [name, found] of times)
      medians.get(name)?.push(
        percentile(
          found.toSorted((a, b) => a - b),
          0.5,
        ),
      );
    say(`first event, round ${round + 1}`);
  }
  agent.destroy();
  const direct = median(medians.get('direct') ?? []);
  return ways.flatMap(({ name }) => {
    if (name === 'direct') return [];
    const value = median(medians.get(name) ?? []) - direct;
    const target = name.startsWith('mortise') ? { target: '<= 1' } : {};
    return [{ name: `${name}: added to the first text p50`, value, unit: 'ms', ...target }];
  });
}

function firstText(agent: Agent, { url, headers, body }: Way): Promise<number> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    let text = '';
    let first: number | undefined;
    const length = String(Buffer.byteLength(body));
    const sent = request(url, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': length },
    });
    sent.on('response', (response) => {
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (first === undefined && text.includes('first')) first = performance.now() - from;
      });
      response.on('end', () =>
        first === undefined ? reject(new Error(`no text: ${text.slice(0, 200)}`)) : resolve(first),
      );
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
