import { cronError } from '../errors.js';

/** A change of a zone's offset: `before` holds up to and not including `at`, `after` from then on. Milliseconds. */
export interface Transition {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

const dayMs = 86_400_000;

/** The offsets of one zone, looked up in tables per UTC year: querying the runtime costs 3 to 10 µs per instant. */
export class Zone {
  readonly #format: Intl.DateTimeFormat;
  /** By UTC year: the offset at its beginning, and its transitions in order. */
  readonly #years = new Map<number, { readonly first: number; readonly transitions: readonly Transition[] }>();

  constructor(format: Intl.DateTimeFormat) {
    this.#format = format;
  }

  /** Milliseconds to add to an instant to get the local time as if it were UTC. Instants are whole seconds. */
  offsetAt(instant: number): number {
    const { first, transitions } = this.#year(new Date(instant).getUTCFullYear());
    let offset = first;
    for (const { at, after } of transitions) {
      if (instant < at) break;
      offset = after;
    }
    return offset;
  }

  /** The changes of offset in `(from, to]`. */
  transitions(from: number, to: number): readonly Transition[] {
    const firstYear = new Date(from).getUTCFullYear();
    const lastYear = new Date(to).getUTCFullYear();
    let found: Transition[] | undefined;
    for (let year = firstYear; year <= lastYear; year += 1) {
      for (const transition of this.#year(year).transitions) {
        if (transition.at > from && transition.at <= to) {
          found ??= [];
          found.push(transition);
        }
      }
    }
    return found ?? none;
  }

  #year(year: number) {
    let known = this.#years.get(year);
    if (known === undefined) {
      known = this.#readYear(year);
      this.#years.set(year, known);
    }
    return known;
  }

  /** Compares days, and halves those on which the offset changes down to the second. */
  #readYear(year: number) {
    const end = Date.UTC(year + 1, 0, 1);
    const transitions: Transition[] = [];
    // A second before the year: a transition at its first instant belongs to it.
    let left = Date.UTC(year, 0, 1) - 1_000;
    const first = this.#ask(left);
    let before = first;
    while (left < end - 1_000) {
      const right = Math.min(left + dayMs, end - 1_000);
      const after = this.#ask(right);
      if (after !== before) {
        let [low, high] = [left, right];
        while (high - low > 1_000) {
          const middle = low + Math.floor((high - low) / 2_000) * 1_000;
          if (this.#ask(middle) === before) low = middle;
          else high = middle;
        }
        transitions.push({ at: high, before, after });
      }
      [left, before] = [right, after];
    }
    return { first, transitions };
  }

  #ask(instant: number): number {
    const parts: Record<string, string> = {};
    for (const part of this.#format.formatToParts(instant)) parts[part.type] = part.value;
    const year = Number(parts.year) * (parts.era === 'BC' ? -1 : 1);
    const { month, day, hour, minute, second } = parts;
    return Date.UTC(year, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) - instant;
  }
}

const none: readonly Transition[] = [];
const zones = new Map<string, Zone>();

/**
 * The zone of an IANA name, or of a fixed offset that the runtime knows.
 * @throws MortiseError `invalid_cron_schedule`: `invalid schedule.timezone="…"`.
 */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name);
  if (zone === undefined) {
    zone = new Zone(formatOf(name));
    zones.set(name, zone);
  }
  return zone;
}

function formatOf(name: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
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
    throw cronError('invalid_cron_schedule', {
      message: `invalid schedule.timezone="${name}"`,
      hint: 'Use an IANA name such as UTC, Europe/Berlin or Asia/Shanghai.',
      cause: error,
    });
  }
}
