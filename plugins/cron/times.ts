/** RFC 3339 UTC with milliseconds. @param at epoch milliseconds */
export function timeText(at: number): string {
  return new Date(at).toISOString();
}

/** RFC 3339 UTC with whole seconds, as slots are written. @param at epoch milliseconds */
export function slotText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
