import type Database from 'better-sqlite3';

/** What is counted over seven days. */
export interface WeekCounts {
  readonly errors: number;
  readonly empty: number;
}

const dayMs = 86_400_000;
const prefix = 'counts:';
const keyOf = (at: number): string => `${prefix}${new Date(at).toISOString().slice(0, 10)}`;

/** Adds to the counts of today (UTC), and forgets those that are older than a week. */
export function addToDay(database: Database, { errors, empty }: WeekCounts, now: number): void {
  database
    .transaction(() => {
      const before = database
        .prepare('select value from kb_index_meta where key = ?')
        .pluck()
        .get([keyOf(now)]);
      const known = typeof before === 'string' ? (JSON.parse(before) as WeekCounts) : { errors: 0, empty: 0 };
      const next: WeekCounts = { errors: known.errors + errors, empty: known.empty + empty };
      database
        .prepare('insert or replace into kb_index_meta (key, value) values (?, ?)')
        .run([keyOf(now), JSON.stringify(next)]);
      database.prepare('delete from kb_index_meta where key >= ? and key < ?').run([prefix, keyOf(now - 7 * dayMs)]);
    })
    .immediate();
}

/** The counts of the last seven days, today among them. */
export function countsOfWeek(database: Database, now: number): WeekCounts {
  const rows = database
    .prepare('select value from kb_index_meta where key > ? and key <= ?')
    .pluck()
    .all([keyOf(now - 7 * dayMs), keyOf(now)]) as string[];
  return rows
    .map((row) => JSON.parse(row) as WeekCounts)
    .reduce((sum, day) => ({ errors: sum.errors + day.errors, empty: sum.empty + day.empty }), { errors: 0, empty: 0 });
}
