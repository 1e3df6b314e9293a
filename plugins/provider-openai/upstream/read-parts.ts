import { isCodedError } from 'mortise/sdk';
import { providerError } from '../errors.js';
import type { OpenAnswer } from './open-answer.js';
import { networkCode } from './read-failure.js';

/**
 * The bytes of an answer as they arrive. Leaving early closes the connection.
 * @throws provider_request_failed when the connection breaks, or is silent for too long
 */
export async function* readParts({ first, reader }: OpenAnswer): AsyncGenerator<Uint8Array> {
  if (reader === undefined) return;
  try {
    for (let part = first; part !== undefined; part = await reader.read().catch(broken)) yield part;
  } finally {
    await reader.close();
  }
}

function broken(error: unknown): never {
  if (isCodedError(error)) throw error;
  throw providerError('provider_request_failed', undefined, { cause: networkCode(error) });
}
