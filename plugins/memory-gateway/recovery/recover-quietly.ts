import type { GatewayParts } from '../parts.js';
import { recoverWrites } from './recover-writes.js';

/** One pass of the recovery that nobody waits for: what fails is tried again with the next. */
export async function recoverQuietly(parts: GatewayParts, signal: AbortSignal): Promise<void> {
  try {
    const { stored, queued } = await recoverWrites(parts, signal);
    if (stored + queued > 0) parts.log.info({ stored, queued }, 'Writes of a process that ended were settled.');
  } catch (error) {
    parts.log.warn({ err: error }, 'Unsettled writes could not be looked through.');
  }
}
