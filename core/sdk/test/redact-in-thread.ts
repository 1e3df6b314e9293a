import { parentPort, workerData } from 'node:worker_threads';
import { redactSecrets } from '../mask.js';

/** Redacts long texts made of each part, in a thread, because only that can end a running regular expression. */
const { parts, length } = workerData as { readonly parts: readonly string[]; readonly length: number };
for (const part of parts) {
  // Starts with a word that makes every pattern run.
  redactSecrets(`token ${part.repeat(length / part.length)}`);
  parentPort?.postMessage(part);
}
