import { MortiseError } from 'mortise/sdk';
import type { CronSchedule } from '../contract/index.js';
import { cronError } from '../errors.js';
import { parseCron } from './cron-fields.js';
import { type CronPlan, countCronSlots, lastCronSlot, nextCronSlot } from './cron-slots.js';
import { parseInterval } from './interval.js';
import { zoneOf } from './zone.js';

/** A schedule that was read. */
type Schedule = { readonly kind: 'interval'; readonly seconds: number } | ({ readonly kind: 'cron' } & CronPlan);

/** The slots of a schedule that has been active since `from`; epoch milliseconds, whole seconds, all after `from`. */
export interface SlotSeries {
  next(after: number): number;
  /** The last slot in `(after, through]`. */
  last(after: number, through: number): number | undefined;
  /** Slots in `(after, through]`, counted up to `most`. */
  count(after: number, through: number, most: number): number;
}

/**
 * Reads a schedule, whose fields have their types and defaults.
 * @throws MortiseError `invalid_cron_schedule`.
 */
export function readSchedule({ type, cron, timezone, dst_gap, dst_overlap }: CronSchedule): Schedule {
  const text = cron.trim();
  if (text === '') {
    throw cronError('invalid_cron_schedule', { message: `schedule.cron is required for ${type} jobs` });
  }
  const zone = zoneOf(timezone);
  if (type === 'interval') return { kind: 'interval', seconds: parseInterval(text) };
  const [, prefix, body = text] = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/s.exec(text) ?? [];
  const place = prefix === undefined ? zone : within(() => zoneOf(prefix), `unknown time zone "${prefix}"`);
  const [, every] = /^@every\s+(\S+)$/i.exec(body) ?? [];
  if (every !== undefined) {
    return { kind: 'interval', seconds: within(() => parseInterval(every), `"${every}" is no interval`) };
  }
  const plan = {
    kind: 'cron',
    fields: parseCron(body),
    zone: place,
    dst: { gap: dst_gap ?? 'skip', overlap: dst_overlap ?? 'auto' },
  } as const;
  return plan;
}

/** Reads a part of an expression, whose errors say so. */
function within<T>(read: () => T, reason: string): T {
  try {
    return read();
  } catch (error) {
    const hint = error instanceof MortiseError ? error.hint : undefined;
    throw cronError('invalid_cron_schedule', { message: `invalid cron expression: ${reason}`, hint, cause: error });
  }
}

/** The slots of a schedule in an epoch that began at `from`. */
export function slotsOf(schedule: Schedule, from: number): SlotSeries {
  if (schedule.kind === 'cron') {
    return {
      next: (after) => nextCronSlot(schedule, Math.max(after, from)),
      last: (after, through) => lastCronSlot(schedule, Math.max(after, from), through),
      count: (after, through, most) => countCronSlots(schedule, Math.max(after, from), through, most),
    };
  }
  const step = schedule.seconds * 1_000;
  const index = (instant: number): number => Math.floor((instant - from) / step);
  return {
    next: (after) => from + Math.max(1, index(after) + 1) * step,
    last(after, through) {
      const slot = from + index(through) * step;
      return slot > Math.max(after, from) ? slot : undefined;
    },
    count: (after, through, most) => Math.min(most, Math.max(0, index(through) - Math.max(0, index(after)))),
  };
}

/** RFC 3339 has years of four digits. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59);

/** The first slots after an instant; fewer at the end of time. */
export function nextSlots(series: SlotSeries, after: number, count: number): number[] {
  const slots: number[] = [];
  for (let last = after; slots.length < count; ) {
    last = series.next(last);
    if (last > lastInstant) break;
    slots.push(last);
  }
  return slots;
}
