import type { BackendKind, ChaosRun, DatabaseKind } from '../options.js';

/** Much less can go wrong where only kills do harm. */
const weights: Readonly<Record<BackendKind, number>> = { openmemory: 4, local: 1 };

/** The runs that all kills are spread over. */
export function shareKills(
  kills: number,
  databases: readonly DatabaseKind[],
  backends: readonly BackendKind[],
): readonly Pick<ChaosRun, 'database' | 'backend' | 'kills'>[] {
  const places = databases.flatMap((database) => backends.map((backend) => ({ database, backend })));
  let weight = places.reduce((sum, { backend }) => sum + weights[backend], 0);
  let left = kills;
  return places.map(({ database, backend }) => {
    const share = Math.round((left * weights[backend]) / weight);
    weight -= weights[backend];
    left -= share;
    return { database, backend, kills: share };
  });
}
