import { CallStats } from '../../core/kernel/lease.js';
import { LeaseBook, LeaseSweep } from '../../core/kernel/lease-book.js';
import { PluginPoints } from '../../core/kernel/plugin-points.js';
import { Registry } from '../../core/kernel/registry.js';
import { wrapContribution } from '../../core/kernel/wrap-members.js';
import { createScheduler } from '../../core/schedule/index.js';
import type { CallContext } from '../../core/sdk/context.js';
import { extensionPoints } from '../../core/sdk/points/declarations.js';
import type { Tool } from '../../core/sdk/points/tool.js';
import { createMetrics } from '../../core/telemetry/index.js';
import { count, json, readArguments } from '../arguments.js';

/**
 * Cost of a leased call compared with a direct one: microseconds per call, median of rounds. The variants alternate within
 * each round, so that noise affects all of them.
 */
const {
  rounds,
  calls: callsPerRound,
  json: isJson,
} = readArguments('npm run bench -- lease', 'Cost of a leased call, compared with a direct one.', {
  rounds: count('rounds, each of every variant', 31),
  calls: count('calls of a variant in a round', 20_000),
  json,
});
const limitMicroseconds = 5;

interface Variant {
  readonly name: string;
  run(calls: number): Promise<void>;
}

const tool: Tool = {
  summary: 'Does nothing.',
  audience: ['mcp'],
  inputSchema: { type: 'object' },
  run: async () => answer,
};
const answer = Object.freeze({});
const noArguments = Object.freeze({});

const scheduler = createScheduler({});
const points = publish();
const direct = directContext();
const caller = new AbortController();
const withSignal = { signal: caller.signal };

const variants: readonly Variant[] = [
  {
    name: 'direct',
    run: async (calls) => {
      for (let call = 0; call < calls; call += 1) await tool.run(noArguments, direct);
    },
  },
  {
    name: 'leased',
    run: async (calls) => {
      for (let call = 0; call < calls; call += 1)
        await points.call('tool', 'nothing', (value, ctx) => value.run(noArguments, ctx as typeof direct));
    },
  },
  {
    name: 'leased, with a signal of the caller',
    run: async (calls) => {
      for (let call = 0; call < calls; call += 1)
        await points.call('tool', 'nothing', (value, ctx) => value.run(noArguments, ctx as typeof direct), withSignal);
    },
  },
  {
    name: 'leased, with a signal of the caller that the plugin reads',
    run: async (calls) => {
      for (let call = 0; call < calls; call += 1) await points.call('tool', 'nothing', readSignal, withSignal);
    },
  },
];

function readSignal(value: Tool, ctx: CallContext): object | Promise<object> {
  if (ctx.signal.aborted) throw new Error('The caller has aborted.');
  return value.run(noArguments, ctx as typeof direct);
}

/** The platform's registry and metrics, with a synthetic plugin. */
function publish(): PluginPoints {
  const registry = new Registry(extensionPoints);
  const metrics = createMetrics().host;
  const labels = { point: 'tool', key: 'nothing', plugin: 'bench' };
  const done = metrics.pointCalls.bind({ ...labels, outcome: 'ok' });
  const failed = metrics.pointCalls.bind({ ...labels, outcome: 'error' });
  const duration = metrics.pointDuration.bind(labels);
  const leases = new LeaseBook('bench', {
    monotonic: () => scheduler.monotonic(),
    logFor: () => {
      throw new Error('This benchmark logs nothing.');
    },
    startSpan: () => undefined,
    onIgnoredAbort: () => true,
    sweep: new LeaseSweep(() => scheduler.monotonic()),
  });
  registry.swap(
    [
      {
        ...labels,
        value: tool,
        wrap: wrapContribution(tool),
        facts: {},
        offers: [],
        leases,
        stats: new CallStats((milliseconds, wrong) => {
          (wrong ? failed : done).add();
          duration.record(milliseconds / 1_000);
        }),
        timeoutMs: 30_000,
      },
    ],
    new Set(),
  );
  return new PluginPoints({
    registry,
    declared: () => [],
    own: (undo) => ({ dispose: undo }),
    guard: (run) => run(),
  });
}

function directContext() {
  const { signal } = new AbortController();
  return { signal, caller: 'direct' } as unknown as Parameters<Tool['run']>[1];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function measure(): Promise<void> {
  const times = new Map(variants.map(({ name }) => [name, [] as number[]]));
  for (const variant of variants) await variant.run(callsPerRound * 2);
  for (let round = 0; round < rounds; round += 1) {
    for (const variant of variants) {
      const from = performance.now();
      await variant.run(callsPerRound);
      times.get(variant.name)?.push(((performance.now() - from) * 1_000) / callsPerRound);
    }
  }
  const base = median(times.get('direct') ?? []);
  const rows = variants.map(({ name }) => {
    const microseconds = median(times.get(name) ?? []);
    return { name, microseconds: rounded(microseconds), more: rounded(microseconds - base) };
  });
  const ok = rows.every(({ more }) => more <= limitMicroseconds);
  if (isJson) {
    process.stdout.write(`${JSON.stringify({ rounds, callsPerRound, limitMicroseconds, ok, rows })}\n`);
  } else {
    for (const { name, microseconds, more } of rows)
      process.stdout.write(`${name.padEnd(60)} ${microseconds.toFixed(2)} µs  +${more.toFixed(2)}\n`);
    process.stdout.write(`${ok ? 'within' : 'ABOVE'} the limit of ${limitMicroseconds} µs more than direct\n`);
  }
  await scheduler.dispose();
  process.exitCode = ok ? 0 : 1;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

await measure();
