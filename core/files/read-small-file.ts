import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isTooDeep, maxFileDepth } from '../schema/index.js';

const maxBytes = 1_048_576;

/** Ignores a byte order mark, which some editors write. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new Error(`it is nested deeper than ${maxFileDepth} levels`);
  return JSON.parse(text.replace(/^\uFEFF/, ''));
}

/**
 * Reads a regular file of at most 1 MiB as UTF-8. Pipes and devices are refused, because reading them might never end.
 *
 * @throws Error with the reason
 */
export async function readSmallFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > maxBytes) throw new Error(`it is larger than 1 MiB (${found.size} bytes)`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
