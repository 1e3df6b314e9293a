import { parentPort, workerData } from 'node:worker_threads';
import { redactSecrets } from '../mask.js';

/** Redacts long texts made of each part, in a thread that can be ended: a pattern that goes astray hears no time limit. */
const { parts, length } = workerData as { readonly parts: readonly string[]; readonly length: number };
for (const part of parts) {
  // With a word that has every pattern looked for.
  redactSecrets(`token ${part.repeat(length / part.length)}`);
  parentPort?.postMessage(part);
}
