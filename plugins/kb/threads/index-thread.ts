import { parentPort, workerData } from 'node:worker_threads';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { toWireError } from '../errors.js';
import { createOperations, type OperationHooks } from './operations.js';
import { createShared, jsonOperations, type Request, type ThreadData } from './thread-protocol.js';

/** The entry of a thread that works on the index: requests come and answers go as messages, one at a time. */
const { file, analysisModule, buffer } = workerData as ThreadData;
const { textAnalysis } = (await import(analysisModule)) as { readonly textAnalysis: TextAnalysis };
const shared = createShared(buffer);
const operations = createOperations(file, textAnalysis);
const progressEveryMs = 100;

function hooksOf(id: number): OperationHooks {
  let last = 0;
  return {
    progress: (phase, done, total) => {
      const now = performance.now();
      if (now - last < progressEveryMs && done > 0 && done < total) return;
      last = now;
      parentPort?.postMessage({ id, progress: { phase, done, total } });
    },
    isCancelled: () => shared.isCancelled(id),
    begin: shared.begin,
  };
}

parentPort?.on('message', ({ id, operation, args }: Request) => {
  try {
    const run = operations[operation] as (...given: readonly unknown[]) => unknown;
    const value = run(...args, hooksOf(id));
    parentPort?.postMessage(
      jsonOperations.has(operation) ? { id, ok: true, json: JSON.stringify(value) } : { id, ok: true, value },
    );
  } catch (error) {
    const cancelled = (error as { code?: unknown }).code === 'cancelled';
    const wire = cancelled ? { code: 'cancelled', message: 'It was cancelled.', status: 499 } : toWireError(error);
    parentPort?.postMessage({ id, ok: false, error: wire });
  }
});
