/** What became of rows. */
export interface Tally {
  claimed: number;
  /** In the backend now, those that it had already included. */
  sent: number;
  retried: number;
  dead: number;
  /** Taken by somebody else meanwhile. */
  conflicts: number;
  /** Left to their lease because the database failed. */
  errors: number;
}

export function emptyTally(): Tally {
  return { claimed: 0, sent: 0, retried: 0, dead: 0, conflicts: 0, errors: 0 };
}

export function addTally(sum: Tally, more: Partial<Tally>): void {
  for (const name of ['claimed', 'sent', 'retried', 'dead', 'conflicts', 'errors'] as const)
    sum[name] += more[name] ?? 0;
}

/** Whether something did not go as it should. */
export function hasFailures({ retried, dead, conflicts, errors }: Tally): boolean {
  return retried + dead + conflicts + errors > 0;
}
