const ISO = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** `+0200` as `+02:00`, the one form that every engine reads. */
function zoneOf(zone: string | undefined): string {
  if (zone === undefined || zone === 'Z') return 'Z';
  return zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
}

/**
 * Reads a date or a time of ISO 8601, as callers write them. What names no zone is UTC.
 *
 * @returns UTC with milliseconds and `Z`; undefined for what is no time, such as 30 February.
 */
export function readTime(text: string): string | undefined {
  const [, day, clock = '00:00', zone] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  const midnight = new Date(`${day}T00:00:00Z`);
  // Days that a month does not have would be taken for those of the next.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  const at = new Date(`${day}T${clock}${zoneOf(zone)}`);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
