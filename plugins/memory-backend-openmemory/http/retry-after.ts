/** A server that asks for more is asked again after a day. */
const LONGEST_MS = 86_400_000;

/** Milliseconds that a `Retry-After` header asks to wait: seconds, or a date (RFC 9110, 10.2.3). Undefined for neither. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_MS);
}
