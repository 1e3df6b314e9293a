import type { CronSchedule } from '../contract/index.js';

/**
 * An independent implementation of slots: it walks through the instants of a year, asks the runtime for the wall clock of
 * each, and tests the fields. The plugin goes the other way, from local times to instants.
 */
const zones = [
  'UTC',
  'America/New_York',
  'America/Los_Angeles',
  'America/St_Johns',
  'America/Havana',
  'America/Santiago',
  'America/Asuncion',
  'America/Nuuk',
  'Atlantic/Azores',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Chisinau',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'Asia/Jerusalem',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Pacific/Auckland',
  'Pacific/Chatham',
];

const begin = Date.UTC(2025, 11, 1);
const end = Date.UTC(2027, 2, 1);
const minute = 60_000;
const hour = 60 * minute;

interface Fields {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number> | undefined;
  readonly months: ReadonlySet<number>;
  readonly weekDays: ReadonlySet<number> | undefined;
}

interface SlotCase {
  readonly schedule: CronSchedule;
  readonly after: number;
  readonly fields: Fields;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The wall clock of an instant, as if it were UTC. */
function wallAt(zone: string, instant: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    formats.set(zone, format);
  }
  return Date.parse(`${format.format(instant).replace(' ', 'T')}Z`);
}

const hours = new Map<string, readonly number[]>();

/** The wall clock at the beginning of every hour of the year. */
function hoursOf(zone: string): readonly number[] {
  let known = hours.get(zone);
  if (!known) {
    const walls: number[] = [];
    for (let instant = begin; instant <= end; instant += hour) walls.push(wallAt(zone, instant));
    hours.set(zone, walls);
    known = walls;
  }
  return known;
}

/** Every hour in which the offset of a zone changes. */
export function transitionsOf(): readonly { readonly zone: string; readonly at: number }[] {
  return zones.flatMap((zone) => {
    const walls = hoursOf(zone);
    return walls.flatMap((wall, index) =>
      index > 0 && wall - (walls[index - 1] ?? 0) !== hour ? [{ zone, at: begin + (index - 1) * hour }] : [],
    );
  });
}

function matchesDay({ days, months, weekDays }: Fields, wall: number): boolean {
  const date = new Date(wall);
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const byDate = days?.has(date.getUTCDate());
  const byWeek = weekDays?.has(date.getUTCDay());
  if (byDate === undefined) return byWeek ?? true;
  return byWeek === undefined ? byDate : byDate || byWeek;
}

/** Seconds of a matching minute; empty when the minute does not match. */
function secondsOf(fields: Fields, wall: number): readonly number[] {
  const date = new Date(wall);
  const matches =
    fields.minutes.has(date.getUTCMinutes()) && fields.hours.has(date.getUTCHours()) && matchesDay(fields, wall);
  return matches ? [...fields.seconds] : [];
}

/** The slots of the minute that begins at an instant. */
function slotsOfMinute({ schedule, fields }: SlotCase, instant: number): number[] {
  const { timezone: zone, dst_gap: gap, dst_overlap: overlap = 'auto' } = schedule;
  const wall = wallAt(zone, instant);
  const both = overlap === 'both' || (overlap === 'auto' && fields.hours.size === 24);
  const isSecond = [30, 60, 120].some((back) => wallAt(zone, instant - back * minute) === wall);
  const slots = both || !isSecond ? secondsOf(fields, wall).map((second) => instant + second * 1_000) : [];
  const before = wallAt(zone, instant - minute);
  if (gap === 'shift' && wall - before > minute) {
    for (let skipped = before + minute; skipped < wall; skipped += minute) {
      if (secondsOf(fields, skipped).length > 0) slots.push(instant);
    }
  }
  return slots;
}

/** Up to `count` slots after the instant of the case, as far as the year reaches. */
export function oracleSlots(one: SlotCase, count: number): number[] {
  const { schedule, after, fields } = one;
  const walls = hoursOf(schedule.timezone);
  const slots = new Set<number>();
  for (let index = Math.floor((after - begin) / hour); index + 3 < walls.length; index += 1) {
    const [start, wall] = [begin + index * hour, walls[index] ?? 0];
    // Plain hours far from a change are tested as a whole.
    const isPlain = [-3, -2, -1, 0, 1].every(
      (near) => (walls[index + near + 1] ?? 0) - (walls[index + near] ?? 0) === hour,
    );
    if (isPlain && !matchesDay(fields, wall) && !matchesDay(fields, wall + hour - minute)) continue;
    for (let instant = start; instant < start + hour; instant += minute) {
      const found = isPlain
        ? secondsOf(fields, wall + instant - start).map((second) => instant + second * 1_000)
        : slotsOfMinute(one, instant);
      for (const slot of found) if (slot > after) slots.add(slot);
    }
    if (slots.size >= count) break;
  }
  return [...slots].sort((a, b) => a - b).slice(0, count);
}

/** A random expression, zone and instant; half of the instants are near a clock change. */
export function randomCase(random: () => number, changes: ReturnType<typeof transitionsOf>): SlotCase {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const near = random() < 0.5 ? pick(changes) : undefined;
  const timezone = near?.zone ?? pick(zones);
  const after = near
    ? near.at + (below(96) - 72) * hour + below(3_600) * 1_000
    : begin + 48 * hour + below((end - begin) / 1_000 - 90 * 86_400) * 1_000;

  const field = (least: number, most: number, open: number): [string, ReadonlySet<number>] => {
    const all = Array.from({ length: most - least + 1 }, (_, index) => least + index);
    const kind = random();
    if (kind < open) return ['*', new Set(all)];
    if (kind < open + (1 - open) / 3) {
      const step = 1 + below(Math.ceil(most / 2));
      const start = least + below(most - least + 1);
      return [`${start}/${step}`, new Set(all.filter((value) => value >= start && (value - start) % step === 0))];
    }
    if (kind < open + (2 * (1 - open)) / 3) {
      const low = least + below(most - least + 1);
      const high = low + below(most - low + 1);
      return [`${low}-${high}`, new Set(all.filter((value) => value >= low && value <= high))];
    }
    const values = Array.from({ length: 1 + below(3) }, () => least + below(most - least + 1));
    return [values.join(','), new Set(values)];
  };

  const withSeconds = random() < 0.2;
  const [secondText, seconds] = withSeconds ? field(0, 59, 0.1) : ['0', new Set([0])];
  const [minuteText, minutes] = field(0, 59, 0.3);
  const [hourText, hourSet] = near && random() < 0.6 ? field(0, 4, 0.1) : field(0, 23, 0.3);
  const hours = hourText === '*' ? new Set(Array.from({ length: 24 }, (_, index) => index)) : hourSet;
  // A step of the narrow hour field would run to 23.
  const narrow = hourText.includes('/') ? [...hourSet].join(',') : hourText;
  const [dayText, days] = field(1, 28, near ? 0.9 : 0.6);
  const days31 = dayText.includes('/') ? [...days].join(',') : dayText;
  const [weekText, weekDays] = field(0, 6, near ? 0.9 : 0.6);
  const expression = `${minuteText} ${narrow} ${days31} * ${weekText}`;
  return {
    schedule: {
      type: 'cron',
      cron: withSeconds ? `${secondText} ${expression}` : expression,
      timezone,
      dst_gap: pick(['skip', 'shift']),
      dst_overlap: pick(['auto', 'first', 'both']),
    },
    after,
    fields: {
      seconds,
      minutes,
      hours,
      days: dayText === '*' ? undefined : days,
      months: new Set(Array.from({ length: 12 }, (_, index) => index + 1)),
      weekDays: weekText === '*' ? undefined : weekDays,
    },
  };
}
