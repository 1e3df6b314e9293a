import { Worker } from 'node:worker_threads';
import { MortiseError } from 'mortise/sdk';
import { invalidInput } from '../errors.js';
import type { FileMatches, SearchJob, SearchReply } from './search-worker.js';

/** An expression that backtracks without end is stopped with its thread. Starting the thread does not count. */
const limitMs = 5_000;
const maxThreads = 2;

/** Runs searches in threads of their own, two at a time; others wait. */
export class SearchThreads {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** @throws MortiseError `tool_timeout` after 5 s, `invalid_tool_input` for an expression that is not valid */
  async search(job: SearchJob, signal: AbortSignal): Promise<readonly FileMatches[]> {
    if (this.#running >= maxThreads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      signal.throwIfAborted();
      return await searchInThread(job, signal);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

async function searchInThread(job: SearchJob, signal: AbortSignal): Promise<readonly FileMatches[]> {
  const worker = new Worker(new URL('./search-worker.js', import.meta.url), {
    workerData: job,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  let timer: NodeJS.Timeout | undefined;
  let leave: () => void = () => undefined;
  try {
    return await new Promise<readonly FileMatches[]>((resolve, reject) => {
      leave = () => reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
      worker.once('online', () => {
        timer = setTimeout(() => {
          reject(new MortiseError('tool_timeout', 'the search took longer than 5 seconds', { status: 504 }));
        }, limitMs);
      });
      worker.once('message', (reply: SearchReply) => {
        if (reply.ok) resolve(reply.found);
        else reject(invalidInput(reply.message));
      });
      worker.once('error', reject);
      worker.once('exit', () =>
        reject(new MortiseError('tool_invoke_failed', 'the search ended early', { status: 502 })),
      );
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    await worker.terminate();
  }
}
