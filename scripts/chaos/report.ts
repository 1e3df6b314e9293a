import type { ChaosResult } from './run-chaos.js';
import type { StopResult } from './stops/run-stops.js';

const MAX_SHOWN = 20;
const titles = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

function counts(found: Readonly<Record<string, number>>): string {
  return (
    Object.entries(found)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none'
  );
}

/** The command that runs the same plan again. */
export function replay({
  kills,
  seed,
  life,
  database,
  backend,
}: Pick<ChaosResult, 'kills' | 'seed' | 'life' | 'database' | 'backend'>): string {
  return `npm run chaos -- --kills ${kills} --seed ${seed} --life ${life} --database ${database} --backend ${backend}`;
}

/** The report of one run as text. */
export function reportText(result: ChaosResult): string {
  const { database, seed, backend, dialect, processes, killed, figures, checks, violations, seconds, folder } = result;
  const lines = [
    `${titles[database]}, ${processes} process${processes === 1 ? '' : 'es'}, backend ${dialect === null ? backend : `${backend} "${dialect}"`}, seed ${seed}`,
    `  kills:      ${killed.boot + killed.serving} (${killed.serving} while serving, ${killed.boot} while starting) in ${seconds.killing} s`,
    `  backend:    ${counts(result.faults)}`,
    `  requests:   ${counts(figures.requests)}`,
    `  outbox:     ${counts(figures.outbox)}; ${counts(figures.events)}`,
    `  memories:   ${counts(figures.ledger)}; in the backend ${counts(figures.backend)}`,
    `  audit:      ${figures.audits} rows, ${figures.links} links; invariants checked ${checks} times in between`,
    `settled in ${seconds.settling} s, checked in ${seconds.checking} s`,
  ];
  if (violations.length === 0) return [...lines, '  nothing lost, nothing duplicated, every rule holds'].join('\n');
  const shown = violations.slice(0, MAX_SHOWN).map(({ rule, what }) => `    ${rule}: ${what}`);
  const more = violations.length - shown.length;
  return [
    ...lines,
    `  ${violations.length} VIOLATIONS`,
    ...shown,
    ...(more > 0 ? [`    and ${more} more`] : []),
    `kept for inspection: ${folder}`,
    `  again: ${replay(result)}`,
  ].join('\n');
}

export function stopText({ database, rounds, seed, begun, violations }: StopResult): string {
  const kinds = Object.entries(begun).map(([kind, ends]) => `  ${kind}: ${counts(ends)}`);
  return [
    `${titles[database]}: ${rounds} servers stopped while calls were in flight (seed ${seed})`,
    ...kinds,
    ...violations,
    violations.length === 0 ? 'Every begun call was answered.' : `${violations.length} violations`,
  ].join('\n');
}
