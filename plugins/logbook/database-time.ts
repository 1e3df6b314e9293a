import type { Database } from 'mortise/sdk';

/**
 * SQL for the database's clock moved by a number of seconds, which is bound as one `?`. Written as the codec writes
 * times, so that it compares with stored ones.
 */
export function movedNow({ dialect, now }: Database): string {
  return dialect === 'sqlite'
    ? `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', cast(? as text) || ' seconds')`
    : `(${now.time} + cast(? as double precision) * interval '1 second')`;
}
