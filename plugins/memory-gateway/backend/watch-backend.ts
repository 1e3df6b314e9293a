import type { Points, StartHost } from 'mortise/sdk';
import type { GatewayConfig } from '../config.js';
import type { Gateway } from '../gateway.js';

/** A message when no plugin contributes the chosen backend; undefined when one does. */
export function missingBackend(points: Points, backend: string): string | undefined {
  const known = points.list('memory-backend').map(({ key }) => key);
  if (known.includes(backend)) return undefined;
  const others = known.length === 0 ? 'none is known' : `known: ${[...new Set(known)].sort().join(', ')}`;
  return `There is no memory backend "${backend}" (MORTISE_MEMORY_BACKEND); ${others}. Memories wait in the outbox.`;
}

/** Logs a warning while the chosen backend does not exist, and again when that changes. */
export function warnOfMissingBackend({ points, log }: StartHost<GatewayConfig>, backend: string): void {
  let logged: string | undefined;
  const check = (): void => {
    const missing = missingBackend(points, backend);
    if (missing !== undefined && missing !== logged) log.warn({ backend }, missing);
    if (missing === undefined && logged !== undefined)
      log.info({ backend }, `The memory backend "${backend}" is available.`);
    logged = missing;
  };
  points.onChange('memory-backend', check);
  check();
}

/** Checks the health of a backend whose circuit is not closed, which closes it once the backend answers again. */
export async function probeBackend({ backend, log }: Gateway, signal: AbortSignal): Promise<void> {
  if (backend.status().circuit === 'closed') return;
  try {
    await backend.health({ signal });
  } catch (error) {
    log.debug({ err: error, backend: backend.backend }, 'The memory backend does not answer yet.');
  }
}
