import type { Points, StartHost } from 'mortise/sdk';
import type { Config } from '../config.generated.js';

/** What to tell when nothing offers the backend that is chosen; undefined when it is there. */
export function unknownBackend(points: Points, backend: string): string | undefined {
  const known = points.list('memory-backend').map(({ key }) => key);
  if (known.includes(backend)) return undefined;
  const others = known.length === 0 ? 'none is known' : `known: ${[...new Set(known)].sort().join(', ')}`;
  return `There is no memory backend "${backend}" (MORTISE_MEMORY_BACKEND); ${others}. Memories wait in the outbox.`;
}

/** Warns once that the chosen backend does not exist, and again when that changes. */
export function warnOfUnknownBackend({ points, log }: StartHost<Config>, backend: string): void {
  let told: string | undefined;
  const look = (): void => {
    const now = unknownBackend(points, backend);
    if (now !== undefined && now !== told) log.warn({ backend }, now);
    if (now === undefined && told !== undefined) log.info({ backend }, `The memory backend "${backend}" is there.`);
    told = now;
  };
  points.onChange('memory-backend', look);
  look();
}
