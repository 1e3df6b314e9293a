import { randomInt } from 'node:crypto';
import { count, database, databases, json, oneOf, readArguments } from '../arguments.js';

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

interface ChaosOptions extends Pick<ChaosRun, 'kills' | 'seed' | 'life'> {
  /** Servers to stop while calls are in flight; then no process is killed unless `--kills` is given too. */
  readonly stops: number;
  /** The kills are distributed over all of them. */
  readonly databases: readonly DatabaseKind[];
  readonly backends: readonly BackendKind[];
  readonly json: boolean;
}

const backends = ['openmemory', 'local'] as const;

const options = {
  kills: count('processes that are killed; 20 when absent, none with --stops'),
  stops: count('servers that are stopped while calls are in flight', 0),
  seed: count('repeats a run; a random one when absent'),
  life: count('mean number of answers of a process before it is killed', 20),
  database,
  backend: oneOf('only with this memory backend', backends),
  json,
};

/** Ends the process for `--help` and for invalid options. */
export function readOptions(): ChaosOptions {
  const about =
    'Kills the product while its memory backend misbehaves. "cron" and "turns" as first words are further campaigns.';
  const values = readArguments('npm run chaos --', about, options);
  const { stops, kills = stops > 0 ? 0 : 20, seed = randomInt(1_000_000), life } = values;
  return {
    kills,
    stops,
    seed,
    life,
    databases: databases.filter((one) => values.database === undefined || values.database === one),
    backends: backends.filter((one) => values.backend === undefined || values.backend === one),
    json: values.json,
  };
}
