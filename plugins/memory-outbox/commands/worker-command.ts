import { randomBytes } from 'node:crypto';
import type { CallContext, Command, CommandFacts, CommandInput, CommandResult } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { OutboxDeps } from '../outbox-deps.js';
import { hasFailures, type Tally } from '../worker/attempt.js';
import { OutboxWorker } from '../worker/outbox-worker.js';

/** Options of the command and the configuration they override. */
const numbers = {
  batchSize: 'batch_size',
  maxRetries: 'max_retries',
  baseBackoff: 'base_backoff',
  leaseSeconds: 'lease_seconds',
} as const;

interface WorkerInput {
  readonly mode: 'once' | 'loop';
  readonly config: Config;
  readonly intervalMs: number;
  readonly workerId: string;
  readonly isVerbose: boolean;
}

function positive(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  return number > 0 ? number : undefined;
}

/** Undefined for invalid usage. */
function readInput({ args, options }: CommandInput, config: Config): WorkerInput | undefined {
  const modes = (['once', 'loop'] as const).filter((mode) => options[mode] === true);
  const [mode] = modes;
  if (args.length > 0 || mode === undefined || modes.length > 1) return undefined;
  const changed: Record<string, number> = {};
  for (const [option, name] of Object.entries(numbers)) {
    if (options[option] === undefined) continue;
    const value = positive(options[option]);
    if (value === undefined || !Number.isInteger(value)) return undefined;
    changed[name] = value;
  }
  const interval = options.loopInterval === undefined ? 1 : positive(options.loopInterval);
  const workerId = options.workerId ?? `cli-${randomBytes(6).toString('hex')}`;
  if (interval === undefined || typeof workerId !== 'string' || workerId === '') return undefined;
  const isVerbose = options.verbose === true;
  return { mode, config: { ...config, ...changed }, intervalMs: interval * 1_000, workerId, isVerbose };
}

const DRAIN_MS = 10_000;

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function answer(workerId: string, tally: Tally, isVerbose: boolean): CommandResult {
  const { claimed, sent, retried, dead, conflicts, errors } = tally;
  const brief = `Delivered ${sent} of ${claimed}.`;
  const detail = `retried: ${retried}, dead: ${dead}, conflicts: ${conflicts}, errors: ${errors}`;
  const isFailed = hasFailures(tally);
  return {
    exitCode: isFailed ? 1 : 0,
    data: { worker_id: workerId, ...tally },
    text: isFailed || isVerbose ? `${brief} (${detail})` : brief,
  };
}

async function work(workerInput: WorkerInput, ctx: CallContext, deps: OutboxDeps): Promise<Tally> {
  const worker = new OutboxWorker({ ...deps, config: workerInput.config }, workerInput.workerId);
  if (workerInput.mode === 'once') return { ...(await worker.runOnce()) };
  worker.start(workerInput.intervalMs);
  await untilAborted(ctx.signal);
  await worker.stop(DRAIN_MS);
  return { ...worker.total };
}

/** `mortise memory outbox-worker`: 0 all delivered or nothing to do, 1 an item failed, 2 wrong usage. */
export function workerCommand(facts: CommandFacts, deps: OutboxDeps): Command {
  return {
    ...facts,
    async run(input, ctx) {
      const workerInput = readInput(input, deps.config);
      if (workerInput === undefined) {
        return { exitCode: 2, data: { error: 'usage', usage: facts.usage }, text: `Usage: mortise ${facts.usage}` };
      }
      return answer(workerInput.workerId, await work(workerInput, ctx, deps), workerInput.isVerbose);
    },
  };
}
