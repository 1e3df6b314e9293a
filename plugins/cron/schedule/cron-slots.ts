import { type CronFields, invalidCron } from './cron-fields.js';
import type { Transition, Zone } from './zone.js';

/** How a clock change affects the slots of an expression. */
export interface DstRule {
  /** A local time that does not exist: no slot, or the first instant after the gap. */
  readonly gap: 'skip' | 'shift';
  /** A local time that exists twice: both when the hour field has all 24 hours, else the first (`auto`); or always. */
  readonly overlap: 'auto' | 'first' | 'both';
}

/** A cron expression in a zone. */
export interface CronPlan {
  readonly fields: CronFields;
  readonly zone: Zone;
  readonly dst: DstRule;
}

const second = 1_000;
const day = 86_400_000;
/** 29 February around a century without a leap day is eight years away. */
const horizon = 8 * 366 * day;

/** A local day: its midnight as if local time were UTC, the offset half a day earlier, and the changes on and around it. */
interface LocalDay {
  readonly midnight: number;
  readonly offset: number;
  readonly transitions: readonly Transition[];
}

function localDay({ zone }: CronPlan, midnight: number): LocalDay {
  const from = midnight - zone.offsetAt(midnight) - day / 2;
  return { midnight, offset: zone.offsetAt(from), transitions: zone.transitions(from, from + 2 * day) };
}

function matchesDay({ months, days, weekDays, eitherDay }: CronFields, midnight: number): boolean {
  const date = new Date(midnight);
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const byDate = days.has(date.getUTCDate());
  const byWeek = weekDays.has(date.getUTCDay());
  return eitherDay ? byDate || byWeek : byDate && byWeek;
}

/** The midnight of the first matching day from `midnight` on, months without a match skipped as a whole. */
function nextDay(fields: CronFields, midnight: number, last: number): number | undefined {
  let at = midnight;
  while (at <= last) {
    const date = new Date(at);
    if (!fields.months.has(date.getUTCMonth() + 1)) {
      at = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    } else if (matchesDay(fields, at)) {
      return at;
    } else {
      at += day;
    }
  }
  return undefined;
}

const at = (hour: number, minute: number, sec: number): number => hour * 3_600 + minute * 60 + sec;
const first = ({ values }: { readonly values: readonly number[] }): number => values[0] ?? 0;
const last = ({ values }: { readonly values: readonly number[] }): number => values.at(-1) ?? 0;

/** The first matching second of the day from `least` on; -1 when the day has none left. */
function timeFrom({ hours, minutes, seconds }: CronFields, least: number): number {
  const [h, m, s] = [Math.floor(least / 3_600), Math.floor(least / 60) % 60, least % 60];
  if (h > 23) return -1;
  let hour = hours.from[h] ?? -1;
  if (hour === h) {
    let minute = minutes.from[m] ?? -1;
    if (minute === m) {
      const sec = seconds.from[s] ?? -1;
      if (sec >= 0) return at(hour, minute, sec);
      minute = minutes.from[m + 1] ?? -1;
    }
    if (minute >= 0) return at(hour, minute, first(seconds));
    hour = hours.from[h + 1] ?? -1;
  }
  return hour < 0 ? -1 : at(hour, first(minutes), first(seconds));
}

/** The last matching second of the day up to `most`; -1 when there is none before. */
function timeUpTo({ hours, minutes, seconds }: CronFields, most: number): number {
  const [h, m, s] = [Math.floor(most / 3_600), Math.floor(most / 60) % 60, most % 60];
  let hour = hours.upTo[h] ?? -1;
  if (hour === h) {
    let minute = minutes.upTo[m] ?? -1;
    if (minute === m) {
      const sec = seconds.upTo[s] ?? -1;
      if (sec >= 0) return at(hour, minute, sec);
      minute = m === 0 ? -1 : (minutes.upTo[m - 1] ?? -1);
    }
    if (minute >= 0) return at(hour, minute, last(seconds));
    hour = h === 0 ? -1 : (hours.upTo[h - 1] ?? -1);
  }
  return hour < 0 ? -1 : at(hour, last(minutes), last(seconds));
}

/** The instants at which a local time happens on a day whose offset changes: none in a gap, two in an overlap. */
function instantsOf(local: number, { offset: initial, transitions }: LocalDay): number[] {
  const instants: number[] = [];
  let [begin, offset] = [Number.NEGATIVE_INFINITY, initial];
  for (const transition of [...transitions, { at: Number.POSITIVE_INFINITY, before: 0, after: 0 }]) {
    const instant = local - offset;
    if (instant >= begin && instant < transition.at) instants.push(instant);
    [begin, offset] = [transition.at, transition.after];
  }
  return instants;
}

const listed = new WeakMap<CronPlan, Map<number, readonly number[]>>();
/** Days listed per plan: a search looks at two adjacent ones. */
const maxListed = 4;

/** The slots of a local day whose offset changes. Such days are rare, so all of their slots are listed, once. */
function slotsOfChangingDay(plan: CronPlan, local: LocalDay): readonly number[] {
  const days = listed.get(plan) ?? new Map<number, readonly number[]>();
  listed.set(plan, days);
  let slots = days.get(local.midnight);
  if (slots === undefined) {
    slots = listChangingDay(plan, local);
    if (days.size >= maxListed) days.clear();
    days.set(local.midnight, slots);
  }
  return slots;
}

function listChangingDay({ fields, dst }: CronPlan, local: LocalDay): readonly number[] {
  const both = dst.overlap === 'both' || (dst.overlap === 'auto' && fields.hours.values.length === 24);
  const slots = new Set<number>();
  for (let time = timeFrom(fields, 0); time >= 0; time = timeFrom(fields, time + 1)) {
    const wall = local.midnight + time * second;
    const instants = instantsOf(wall, local);
    for (const instant of both ? instants : instants.slice(0, 1)) slots.add(instant);
    if (instants.length === 0 && dst.gap === 'shift') {
      const gap = local.transitions.find(({ at, before, after }) => wall >= at + before && wall < at + after);
      if (gap !== undefined) slots.add(gap.at);
    }
  }
  return [...slots].sort((a, b) => a - b);
}

/**
 * The first slot of a day from `earliest` on. Around a clock change at midnight, slots of the following day may come
 * before the repeated ones of this day.
 */
function firstOfDay(plan: CronPlan, local: LocalDay, earliest: number): number | undefined {
  const { midnight, offset, transitions } = local;
  if (transitions.length === 0) {
    const start = Math.max(0, Math.ceil((earliest + offset - midnight) / second));
    const time = start < 86_400 ? timeFrom(plan.fields, start) : -1;
    return time < 0 ? undefined : midnight + time * second - offset;
  }
  const slots = changingDays(plan, [local, localDay(plan, midnight + day)]).map((listed) =>
    listed.find((slot) => slot >= earliest),
  );
  return slots.reduce((best, slot) => (best === undefined || (slot !== undefined && slot < best) ? slot : best));
}

/** The slots of the days among these that match and whose offset changes. */
function changingDays(plan: CronPlan, days: readonly LocalDay[]): (readonly number[])[] {
  return days.map((one) =>
    one.transitions.length > 0 && matchesDay(plan.fields, one.midnight) ? slotsOfChangingDay(plan, one) : [],
  );
}

function midnightOf({ zone }: CronPlan, instant: number): number {
  return Math.floor((instant + zone.offsetAt(instant)) / day) * day;
}

/**
 * The first slot after `after`; epoch milliseconds, slots are whole seconds.
 * @throws MortiseError `invalid_cron_schedule` when nothing matches in the next 8 years.
 */
export function nextCronSlot(plan: CronPlan, after: number): number {
  const earliest = Math.floor(after / second) * second + second;
  const today = midnightOf(plan, earliest);
  // One day back: after an overlap at midnight the local day of `earliest` may begin twice.
  let midnight = nextDay(plan.fields, today - day, today + horizon);
  while (midnight !== undefined) {
    const slot = firstOfDay(plan, localDay(plan, midnight), earliest);
    if (slot !== undefined) return slot;
    midnight = nextDay(plan.fields, midnight + day, today + horizon);
  }
  throw invalidCron('no matching time');
}

/** The last slot in `(after, through]`; undefined when there is none. */
export function lastCronSlot(plan: CronPlan, after: number, through: number): number | undefined {
  const until = midnightOf(plan, after) - day;
  for (let midnight = midnightOf(plan, through) + day; midnight >= until; midnight -= day) {
    if (!matchesDay(plan.fields, midnight)) continue;
    const local = localDay(plan, midnight);
    const slot = lastOfDay(plan, local, through);
    if (slot !== undefined) return slot > after ? slot : undefined;
  }
  return undefined;
}

function lastOfDay(plan: CronPlan, local: LocalDay, through: number): number | undefined {
  const { midnight, offset, transitions } = local;
  if (transitions.length === 0) {
    const most = Math.min(86_399, Math.floor((through + offset - midnight) / second));
    const time = most < 0 ? -1 : timeUpTo(plan.fields, most);
    return time < 0 ? undefined : midnight + time * second - offset;
  }
  const slots = changingDays(plan, [local, localDay(plan, midnight - day)]).map((listed) =>
    listed.findLast((slot) => slot <= through),
  );
  return slots.reduce((best, slot) => (best === undefined || (slot !== undefined && slot > best) ? slot : best));
}

/** The number of slots in `(after, through]`, counted up to `most`. Whole days without a clock change are not listed. */
export function countCronSlots(plan: CronPlan, after: number, through: number, most: number): number {
  const { hours, minutes, seconds } = plan.fields;
  const perDay = hours.values.length * minutes.values.length * seconds.values.length;
  const ofChangingDays = new Set<number>();
  let count = 0;
  const end = midnightOf(plan, through) + day;
  let midnight = nextDay(plan.fields, midnightOf(plan, after) - day, end);
  while (midnight !== undefined && count + ofChangingDays.size < most) {
    const local = localDay(plan, midnight);
    const start = midnight - local.offset;
    if (local.transitions.length > 0) {
      for (const slot of slotsOfChangingDay(plan, local)) {
        if (slot > after && slot <= through) ofChangingDays.add(slot);
      }
    } else if (start > after && start + day <= through) {
      count += perDay;
    } else {
      const least = Math.max(0, Math.floor((after - start) / second) + 1);
      const limit = Math.min(86_399, Math.floor((through - start) / second));
      let time = least > 86_399 ? -1 : timeFrom(plan.fields, least);
      while (time >= 0 && time <= limit) {
        count += 1;
        time = timeFrom(plan.fields, time + 1);
      }
    }
    midnight = nextDay(plan.fields, midnight + day, end);
  }
  return Math.min(most, count + ofChangingDays.size);
}
