import { Worker } from 'node:worker_threads';
import { transformersError } from './errors.js';
import type { ThreadModel, ThreadReply, ThreadRequest } from './model-thread.js';

/** A model in a thread of its own, which starts with the first text. */
export interface Model {
  /** @throws MortiseError `embedder_model_invalid`, `embedder_unavailable`, or the reason of the signal */
  embed(text: string, signal?: AbortSignal): Promise<Float32Array>;
  close(): Promise<void>;
}

interface Pending {
  resolve(vector: Float32Array): void;
  reject(error: unknown): void;
}

/** Texts are computed in sequence, so that an abort leaves at most one unused. */
export function openModel(model: ThreadModel): Model {
  let worker: Worker | undefined;
  let nextId = 1;
  let last: Promise<unknown> = Promise.resolve();
  const pending = new Map<number, Pending>();

  const start = (): Worker => {
    const started = new Worker(new URL('./model-thread.js', import.meta.url), { workerData: model });
    const ended = (cause?: string): void => {
      if (worker === started) worker = undefined;
      for (const { reject } of pending.values()) reject(transformersError('embedder_unavailable', cause));
      pending.clear();
    };
    started.on('message', (reply: ThreadReply) => {
      const one = pending.get(reply.id);
      pending.delete(reply.id);
      if ('vector' in reply) one?.resolve(reply.vector);
      else one?.reject(transformersError('embedder_model_invalid', reply.failed));
    });
    started.on('error', (error) => ended(error instanceof Error ? error.message : undefined));
    started.on('exit', () => ended());
    started.unref();
    return started;
  };

  const send = (text: string): Promise<Float32Array> =>
    new Promise((resolve, reject) => {
      const id = nextId;
      nextId += 1;
      pending.set(id, { resolve, reject });
      worker ??= start();
      worker.postMessage({ id, text } satisfies ThreadRequest);
    });

  return {
    async embed(text, signal) {
      signal?.throwIfAborted();
      const run = last.then(() => {
        signal?.throwIfAborted();
        return send(text);
      });
      last = run.catch(() => {});
      if (signal === undefined) return run;
      const aborted = new Promise<never>((_, reject) => {
        const abort = (): void => reject(signal.reason as Error);
        signal.addEventListener('abort', abort, { once: true });
        last.then(() => signal.removeEventListener('abort', abort));
      });
      return Promise.race([run, aborted]);
    },
    async close() {
      await worker?.terminate();
    },
  };
}
