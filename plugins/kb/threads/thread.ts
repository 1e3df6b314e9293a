import { Worker } from 'node:worker_threads';
import { fromWireError, kbError } from '../errors.js';
import type { OperationHooks, Operations } from './operations.js';
import { createShared, type Reply, type Request } from './thread-protocol.js';

type WithoutHooks<Args extends readonly unknown[]> = Args extends readonly [...infer Rest, OperationHooks]
  ? Rest
  : Args;
type Given<Name extends keyof Operations> = WithoutHooks<Parameters<Operations[Name]>>;

interface ThreadCallOptions {
  readonly signal?: AbortSignal | undefined;
  onProgress?(phase: string, done: number, total: number): void;
  /** Ends the thread when one file takes longer, and calls this with the file. */
  onSlowFile?(path: string): void;
  /** Ends the thread, with `search_timeout`, when a search takes longer; milliseconds. */
  readonly timeoutMs?: number;
}

/** A worker thread with its own connection to the index; it starts with the first call. */
export interface Thread {
  /** @throws MortiseError of the operation; `index_unavailable` when the thread ended */
  call<Name extends keyof Operations>(
    operation: Name,
    args: Given<Name>,
    options?: ThreadCallOptions,
  ): Promise<ReturnType<Operations[Name]>>;
  close(): Promise<void>;
}

/** Time limit of one file, milliseconds. */
const fileLimitMs = 10_000;

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  readonly options: ThreadCallOptions;
}

export function createThread(file: string, analysisModule: string): Thread {
  let worker: Worker | undefined;
  let shared = createShared();
  let nextId = 1;
  let isClosed = false;
  const pending = new Map<number, Pending>();

  const failAll = (error: unknown): void => {
    for (const { reject } of pending.values()) reject(error);
    pending.clear();
  };
  const start = (): Worker => {
    shared = createShared();
    const started = new Worker(new URL('./index-thread.js', import.meta.url), {
      workerData: { file, analysisModule, buffer: shared.buffer },
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    started.on('message', (reply: Reply) => {
      const one = pending.get(reply.id);
      if (one === undefined) return;
      if ('progress' in reply) {
        one.options.onProgress?.(reply.progress.phase, reply.progress.done, reply.progress.total);
        return;
      }
      pending.delete(reply.id);
      if (pending.size === 0) started.unref();
      if (reply.ok) one.resolve('json' in reply ? JSON.parse(reply.json) : reply.value);
      else one.reject(fromWireError(reply.error));
    });
    const ended = (): void => {
      if (worker !== started) return;
      worker = undefined;
      failAll(kbError('index_unavailable', { problem: 'its thread ended unexpectedly' }));
    };
    started.on('error', ended);
    started.on('exit', ended);
    return started;
  };
  const end = (error: unknown): void => {
    const ending = worker;
    worker = undefined;
    failAll(error);
    void ending?.terminate();
  };

  const watch = (id: number, options: ThreadCallOptions): (() => void) => {
    const timers: NodeJS.Timeout[] = [];
    const { timeoutMs } = options;
    if (timeoutMs !== undefined)
      timers.push(setTimeout(() => end(kbError('search_timeout', { seconds: timeoutMs / 1_000 })), timeoutMs));
    if (options.onSlowFile) {
      let last = shared.current();
      let since = Date.now();
      timers.push(
        setInterval(() => {
          const now = shared.current();
          if (now.sequence !== last.sequence || now.path === '') {
            last = now;
            since = Date.now();
          } else if (Date.now() - since > fileLimitMs) {
            options.onSlowFile?.(now.path);
            end(new SlowFile());
          }
        }, 500),
      );
    }
    const cancel = (): void => shared.cancel(id);
    options.signal?.addEventListener('abort', cancel, { once: true });
    if (options.signal?.aborted) cancel();
    for (const timer of timers) timer.unref();
    return () => {
      for (const timer of timers) clearInterval(timer);
      options.signal?.removeEventListener('abort', cancel);
    };
  };

  return {
    call: (operation, args, options = {}) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(kbError('index_unavailable', { problem: 'it is being closed' }));
          return;
        }
        worker ??= start();
        worker.ref();
        const id = nextId++;
        const stop = watch(id, options);
        pending.set(id, {
          options,
          resolve: (value) => {
            stop();
            resolve(value as never);
          },
          reject: (error) => {
            stop();
            reject(error);
          },
        });
        const request: Request = { id, operation, args };
        worker.postMessage(request);
      }),
    close: async () => {
      isClosed = true;
      const ending = worker;
      worker = undefined;
      failAll(kbError('index_unavailable', { problem: 'it is being closed' }));
      await ending?.terminate();
    },
  };
}

/** The thread was ended because one file took too long. */
export class SlowFile extends Error {}
