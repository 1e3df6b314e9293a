import { MortiseError } from '../sdk/index.js';

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    try {
      format = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        hourCycle: 'h23',
        era: 'short',
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
      });
    } catch (error) {
      throw new MortiseError('invalid_zone', `"${zone}" is no IANA time zone.`, {
        status: 400,
        hint: 'Use a name such as UTC, Europe/Berlin or Asia/Shanghai.',
        cause: error,
      });
    }
    formats.set(zone, format);
  }
  return format;
}

/**
 * Milliseconds to add to an instant to get the zone's local time (as if that were UTC). Instants are whole seconds.
 * @throws MortiseError `invalid_zone`.
 */
export function offsetAt(zone: string, instant: number): number {
  if (zone === 'UTC') return 0;
  const parts: Record<string, string> = {};
  for (const part of formatOf(zone).formatToParts(instant)) parts[part.type] = part.value;
  const year = Number(parts.year) * (parts.era === 'BC' ? -1 : 1);
  const local = Date.UTC(
    year,
    Number(parts.month) - 1,
    Number(parts.day),
    Number(parts.hour),
    Number(parts.minute),
    Number(parts.second),
  );
  return local - instant;
}

/** A change of a zone's offset: `before` holds up to and not including `at`, `after` from then on. */
export interface Transition {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

const hour = 3_600_000;

/** The changes of offset in `(from, to]`, found by looking at each hour and then halving down to the second. */
export function transitionsBetween(zone: string, from: number, to: number): readonly Transition[] {
  const found: Transition[] = [];
  let left = from;
  let before = offsetAt(zone, left);
  while (left < to) {
    const right = Math.min(left + hour, to);
    const after = offsetAt(zone, right);
    if (after !== before) {
      let [low, high] = [left, right];
      while (high - low > 1_000) {
        const middle = low + Math.floor((high - low) / 2_000) * 1_000;
        if (offsetAt(zone, middle) === before) low = middle;
        else high = middle;
      }
      found.push({ at: high, before, after });
    }
    [left, before] = [right, after];
  }
  return found;
}
