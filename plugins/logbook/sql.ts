import type { Database, Dialect } from 'mortise/sdk';

/**
 * SQL for the database's clock plus a number of seconds, bound as one `?`, in the codec's format so that it compares
 * with stored times.
 */
export function movedNow({ dialect, now }: Database): string {
  return dialect === 'sqlite'
    ? `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', cast(? as text) || ' seconds')`
    : `(${now.time} + cast(? as double precision) * interval '1 second')`;
}

/**
 * Subquery over a list of objects bound as one JSON array; its column `value` is one object (`value->>'name'`).
 */
export function jsonRows(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? '(select value from json_each(?))'
    : '(select value from jsonb_array_elements(?::jsonb))';
}
