import { isText, type Problems } from './problems.js';

const withOffset = /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

let lastMillis = Number.NaN;
let lastTime = '';

/** RFC 3339 UTC with milliseconds. Many observations come in the same millisecond: the last one is remembered. */
export function timeOf(millis: number): string {
  if (millis !== lastMillis) {
    lastTime = new Date(millis).toISOString();
    lastMillis = millis;
  }
  return lastTime;
}

/** The event's own time; `now` (epoch milliseconds) when it says nothing. */
export function readTime(value: unknown, now: number, problems: Problems): string {
  if (value === undefined || value === null) return timeOf(now);
  const day = isText(value) ? withOffset.exec(value)?.[1] : undefined;
  const at = isText(value) && day !== undefined && isDay(day) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) {
    problems('timestamp', 'naive_datetime', 'timestamp must be an RFC 3339 time with an offset');
    return '';
  }
  return new Date(at).toISOString();
}

/** The engine takes the 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}
