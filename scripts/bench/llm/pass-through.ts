import { closedLoop, median, percentile } from '../parts/closed-loop.js';
import type { Figure, MeasureOptions } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { type Gateway, type Gateways, messageBody } from './gateways.js';

const path = '/v1/messages';

/** Requests per second of the open loop, and callers of the closed one. */
const rate = 500;
const callers = 32;

/** M1: latency that a gateway adds at a fixed rate, measured from the time at which a request was due. */
export async function measureLatency({ all }: Gateways, options: MeasureOptions): Promise<readonly Figure[]> {
  const results = new Map(all.map(({ name }) => [name, [] as { p50: number; p99: number; failed: number }[]]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const gateway of all) {
      // A gateway that cannot keep up would only measure its own queue.
      const loop = await openLoop(gateway, options.seconds);
      results.get(gateway.name)?.push(loop);
      options.say(
        `latency, round ${round + 1}, ${gateway.name}: p50 ${loop.p50.toFixed(2)}, p99 ${loop.p99.toFixed(2)} ms`,
      );
    }
  }
  const of = (name: string, share: 'p50' | 'p99' | 'failed') =>
    median((results.get(name as never) ?? []).map((one) => one[share]));
  return all.flatMap(({ name }) =>
    name === 'direct'
      ? []
      : [
          added(name, 'p50', of(name, 'p50') - of('direct', 'p50'), '<= 0.8'),
          added(name, 'p99', of(name, 'p99') - of('direct', 'p99'), '<= 5'),
          figure(
            `${name}: failed requests at ${rate}/s`,
            of(name, 'failed'),
            '',
            name === 'mortise' ? '<= 0' : undefined,
          ),
        ],
  );
}

/** M2: requests per second that a gateway passes on, with 32 callers. */
export async function measureThroughput({ all }: Gateways, options: MeasureOptions): Promise<readonly Figure[]> {
  const results = new Map(all.map(({ name }) => [name, [] as { perSecond: number; p99: number }[]]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const gateway of all) {
      const poster = createPoster(gateway.origin, callers);
      const model = modelFor(gateway);
      const loop = await closedLoop(callers, options.seconds, async () => {
        const { status } = await poster.post(path, messageBody({}, model), gateway.headers);
        if (status !== 200) throw new Error(`${gateway.name} answered ${status}`);
      });
      poster.close();
      const p99 = percentile(loop.latencies, 0.99);
      results.get(gateway.name)?.push({ perSecond: loop.perSecond, p99 });
      options.say(`throughput, round ${round + 1}, ${gateway.name}: ${loop.perSecond.toFixed(0)}/s`);
    }
  }
  const of = (name: string, member: 'perSecond' | 'p99') =>
    median((results.get(name as never) ?? []).map((one) => one[member]));
  const hasPortkey = results.has('portkey');
  return [
    ...all.flatMap(({ name }) => [
      figure(`${name}: requests at c=${callers}`, of(name, 'perSecond'), '/s'),
      figure(`${name}: p99 at c=${callers}`, of(name, 'p99'), 'ms'),
    ]),
    ...(hasPortkey
      ? [
          figure(
            'mortise: requests, relative to portkey',
            of('mortise', 'perSecond') / of('portkey', 'perSecond'),
            '×',
            '>= 3',
          ),
          figure('portkey: p99, relative to mortise', of('portkey', 'p99') / of('mortise', 'p99'), '×', '>= 3'),
        ]
      : []),
  ];
}

/** The product selects the provider by the model's name; the others have only one. */
function modelFor({ name }: Gateway): string {
  return name === 'mortise' ? 'anthropic/claude-bench' : 'claude-bench';
}

async function openLoop(gateway: Gateway, seconds: number) {
  const poster = createPoster(gateway.origin, 512);
  const body = messageBody({}, modelFor(gateway));
  const latencies: number[] = [];
  let failed = 0;
  const running: Promise<void>[] = [];
  const warmUp = rate;
  const total = rate * seconds + warmUp;
  const from = performance.now();
  for (let next = 0; next < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - from) * rate) / 1_000) + 1);
    for (; next < due; next += 1) {
      const dueAt = from + (next * 1_000) / rate;
      const isCounted = next >= warmUp;
      running.push(
        poster.post(path, body, gateway.headers).then(
          ({ status }) => {
            if (status !== 200) failed += 1;
            if (isCounted) latencies.push(performance.now() - dueAt);
          },
          () => {
            failed += 1;
          },
        ),
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(running);
  poster.close();
  latencies.sort((a, b) => a - b);
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), failed };
}

function added(name: string, what: string, value: number, target: string): Figure {
  return figure(`${name}: added latency ${what} at ${rate}/s`, value, 'ms', name === 'mortise' ? target : undefined);
}

function figure(name: string, value: number, unit: string, target?: string): Figure {
  return { name, value, unit, ...(target === undefined ? {} : { target }) };
}
