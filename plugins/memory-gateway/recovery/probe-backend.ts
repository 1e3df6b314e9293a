import type { GatewayParts } from '../parts.js';

/** Asks a backend that is not called at the moment whether it answers again. */
export async function probeBackend({ backend, log }: GatewayParts, signal: AbortSignal): Promise<void> {
  if (backend.status().circuit === 'closed') return;
  try {
    await backend.health({ signal });
  } catch (error) {
    log.debug({ err: error, backend: backend.backend }, 'The memory backend does not answer yet.');
  }
}
