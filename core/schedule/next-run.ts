import type { CronOptions } from '../sdk/index.js';
import { type CronFields, invalidCron, parseCron } from './cron-fields.js';
import { offsetAt, type Transition, transitionsBetween } from './zone.js';

const second = 1_000;
const day = 86_400_000;
/** The longest wait of a real expression is 29 February over a century without leap day: eight years. */
const horizon = 8 * 366 * day;
const maxRemembered = 500;

const parsed = new Map<string, CronFields>();

function fieldsOf(expression: string): CronFields {
  let fields = parsed.get(expression);
  if (fields === undefined) {
    fields = parseCron(expression);
    if (parsed.size >= maxRemembered) parsed.clear();
    parsed.set(expression, fields);
  }
  return fields;
}

/** What a local day needs to be turned into instants. Kept, because asking the runtime for an offset costs 10 µs. */
interface LocalDay {
  /** Offset half a day before the day begins. */
  readonly offset: number;
  /** The changes of offset on and around it. */
  readonly transitions: readonly Transition[];
}

const localDays = new Map<string, LocalDay>();

function localDay(zone: string, midnight: number): LocalDay {
  const key = `${zone} ${midnight}`;
  let found = localDays.get(key);
  if (found === undefined) {
    const from = midnight - offsetAt(zone, midnight) - day / 2;
    const to = from + 2 * day;
    const offset = offsetAt(zone, from);
    found = { offset, transitions: offset === offsetAt(zone, to) ? [] : transitionsBetween(zone, from, to) };
    if (localDays.size >= maxRemembered) localDays.clear();
    localDays.set(key, found);
  }
  return found;
}

function matchesDay(fields: CronFields, localMidnight: number): boolean {
  const date = new Date(localMidnight);
  if (!fields.months.has(date.getUTCMonth() + 1)) return false;
  const byDate = fields.days.has(date.getUTCDate());
  const byWeek = fields.weekDays.has(date.getUTCDay());
  return fields.eitherDay ? byDate || byWeek : byDate && byWeek;
}

/** The first value of an ascending list that is at least `least`. */
function firstFrom(values: readonly number[], least: number): number | undefined {
  return values.find((value) => value >= least);
}

/** The first matching time of day, in milliseconds, that is at least `from`; undefined when the day has none left. */
function timeOfDay(fields: CronFields, from: number): number | undefined {
  const start = Math.ceil(from / second);
  const [startHour, startMinute, startSecond] = [Math.floor(start / 3_600), Math.floor(start / 60) % 60, start % 60];
  for (const hour of fields.hours) {
    if (hour < startHour) continue;
    for (const minute of fields.minutes) {
      if (hour === startHour && minute < startMinute) continue;
      const least = hour === startHour && minute === startMinute ? startSecond : 0;
      const found = firstFrom(fields.seconds, least);
      if (found !== undefined) return (hour * 3_600 + minute * 60 + found) * second;
    }
  }
  return undefined;
}

/** The instants at which a local time happens on a day whose offset changes: none in a gap, two in an overlap. */
function instantsOf(local: number, first: number, transitions: readonly Transition[]): number[] {
  const instants: number[] = [];
  let [begin, offset] = [Number.NEGATIVE_INFINITY, first];
  for (const transition of [...transitions, { at: Number.POSITIVE_INFINITY, before: 0, after: 0 }]) {
    const instant = local - offset;
    if (instant >= begin && instant < transition.at) instants.push(instant);
    [begin, offset] = [transition.at, transition.after];
  }
  return instants;
}

/** The slots of a local day whose offset changes, ascending. Such days are rare, so all of them are listed. */
function slotsOfChangingDay(
  fields: CronFields,
  midnight: number,
  first: number,
  transitions: readonly Transition[],
  options: Required<CronOptions>,
): number[] {
  const both = options.overlap === 'both' || (options.overlap === 'auto' && fields.hours.length === 24);
  const slots = new Set<number>();
  let time = timeOfDay(fields, 0);
  while (time !== undefined) {
    const local = midnight + time;
    const instants = instantsOf(local, first, transitions);
    for (const instant of both ? instants : instants.slice(0, 1)) slots.add(instant);
    if (instants.length === 0 && options.gap === 'shift') {
      const gap = transitions.find(({ at, before, after }) => local >= at + before && local < at + after);
      if (gap !== undefined) slots.add(gap.at);
    }
    time = timeOfDay(fields, time + second);
  }
  return [...slots].sort((a, b) => a - b);
}

/**
 * The first slot after `after` (epoch milliseconds); slots are whole seconds.
 *
 * A local time that a clock change skips runs at the first moment after the gap (`gap: 'shift'`) or not at all
 * (`'skip'`). A local time that happens twice runs the first time only, unless the hour field names all 24 hours
 * (`overlap: 'auto'`); `'first'` and `'both'` decide it for every expression.
 * @throws MortiseError `invalid_cron` (also when nothing matches in the next 8 years), `invalid_zone`.
 */
export function nextRun(expression: string, zone: string, after: number, options: CronOptions = {}): number {
  const fields = fieldsOf(expression);
  const place = fields.zone ?? zone;
  const choice = { gap: options.gap ?? 'shift', overlap: options.overlap ?? 'auto' } as const;
  const earliest = Math.floor(after / second) * second + second;
  const local = earliest + offsetAt(place, earliest);
  // One day back: after an overlap at midnight the local day of `earliest` may begin twice.
  let midnight = Math.floor(local / day) * day - day;
  for (; midnight <= local + horizon; midnight += day) {
    if (!matchesDay(fields, midnight)) continue;
    const { offset, transitions } = localDay(place, midnight);
    if (transitions.length === 0) {
      const start = earliest + offset - midnight;
      const found = start < day ? timeOfDay(fields, Math.max(0, start)) : undefined;
      if (found !== undefined) return midnight + found - offset;
      continue;
    }
    const slot = slotsOfChangingDay(fields, midnight, offset, transitions, choice).find((at) => at >= earliest);
    if (slot !== undefined) return slot;
  }
  throw invalidCron('no matching time');
}
