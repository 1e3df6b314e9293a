import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export type DatabaseKind = 'sqlite' | 'postgres';

/** `openmemory` misbehaves in a separate process; `local` is in the product's database, where only kills do harm. */
export type BackendKind = 'openmemory' | 'local';

/** The parameters of one run on one database. */
export interface ChaosRun {
  readonly database: DatabaseKind;
  readonly backend: BackendKind;
  readonly kills: number;
  readonly seed: number;
  /** Mean number of responses of a process before it is killed. */
  readonly life: number;
  /** Called after each kill. */
  readonly onKill?: (killed: number) => void;
}

export interface ChaosOptions extends Pick<ChaosRun, 'kills' | 'seed' | 'life'> {
  /** Servers to stop while answers are under way; with it nothing is killed unless `--kills` is given too. */
  readonly stops: number;
  /** The kills are distributed over all of them. */
  readonly databases: readonly DatabaseKind[];
  readonly backends: readonly BackendKind[];
  readonly json: boolean;
}

/** Invalid arguments, with the usage. */
export class UsageError extends Error {}

export const usage =
  'npm run chaos -- [--kills <n>] [--stops <n>] [--seed <n>] [--life <answers>] [--database sqlite|postgres] [--backend openmemory|local] [--json]';

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number, not "${text}": ${usage}`);
}

/** @throws UsageError */
export function readOptions(args: readonly string[]): ChaosOptions {
  const read = (): Record<string, string | boolean | undefined> => {
    try {
      const options = {
        kills: { type: 'string' },
        stops: { type: 'string' },
        seed: { type: 'string' },
        life: { type: 'string' },
        database: { type: 'string' },
        backend: { type: 'string' },
        json: { type: 'boolean' },
      } as const;
      return parseArgs({ args: [...args], options }).values;
    } catch (error) {
      throw new UsageError(`${error instanceof Error ? error.message : String(error)}: ${usage}`);
    }
  };
  const {
    stops = '0',
    kills = Number(stops) > 0 ? '0' : '20',
    seed = String(randomInt(1_000_000)),
    life = '20',
    database,
    backend,
    json,
  } = read();
  if (database !== undefined && database !== 'sqlite' && database !== 'postgres') {
    throw new UsageError(`--database must be sqlite or postgres, not "${database}": ${usage}`);
  }
  if (backend !== undefined && backend !== 'openmemory' && backend !== 'local') {
    throw new UsageError(`--backend must be openmemory or local, not "${backend}": ${usage}`);
  }
  return {
    kills: wholeNumber('kills', String(kills)),
    stops: wholeNumber('stops', String(stops)),
    seed: wholeNumber('seed', String(seed)),
    life: wholeNumber('life', String(life)),
    databases: database === undefined ? ['sqlite', 'postgres'] : [database],
    backends: backend === undefined ? ['openmemory', 'local'] : [backend],
    json: json === true,
  };
}
