/** RFC 3339 UTC with milliseconds, as all times but slots are stored. @param at epoch milliseconds */
export function timeText(at: number): string {
  return new Date(at).toISOString();
}

/** RFC 3339 UTC with whole seconds, as slots are written. @param at epoch milliseconds */
export function slotText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** A stored time as answers show it: RFC 3339 UTC with whole seconds. */
export function shownTime(stored: string): string;
export function shownTime(stored: string | null): string | null;
export function shownTime(stored: string | null): string | null {
  return stored === null ? null : `${stored.slice(0, 19)}Z`;
}
