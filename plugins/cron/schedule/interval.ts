import { cronError } from '../errors.js';

/** Nanoseconds. */
const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const part = /(\d{1,18})(?:\.(\d{1,18}))?(ns|us|µs|μs|ms|s|m|h)/gy;
const decimals = 18;
/** Nanoseconds × 10^18 in a second. */
const secondScaled = 1_000_000_000n * 10n ** BigInt(decimals);
const centurySeconds = 100 * 366 * 86_400;

/**
 * Seconds of an interval: a positive integer, or a duration such as `60s`, `1h30m`, `1.5h`.
 * @throws MortiseError `invalid_cron_schedule`.
 */
export function parseInterval(text: string): number {
  if (/^[+-]?\d{1,15}$/.test(text)) {
    const seconds = Number(text);
    if (seconds <= 0) {
      throw cronError('invalid_cron_schedule', { message: 'schedule interval must be greater than 0' });
    }
    if (seconds <= centurySeconds) return seconds;
    throw invalidInterval(text);
  }
  const scaled = durationOf(text);
  if (scaled === undefined || scaled % secondScaled !== 0n) throw invalidInterval(text);
  const seconds = Number(scaled / secondScaled);
  if (seconds < 1 || seconds > centurySeconds) throw invalidInterval(text);
  return seconds;
}

function invalidInterval(text: string) {
  return cronError('invalid_cron_schedule', {
    message: `invalid schedule interval: "${text}"`,
    hint: 'Write whole seconds, for example 90, 60s, 1h30m or 1.5h; at most 100 years.',
  });
}

/** Exact: nanoseconds × 10^18. */
function durationOf(text: string): bigint | undefined {
  if (text === '' || text.length > 64) return undefined;
  let sum = 0n;
  let read = 0;
  for (const [match, whole = '', fraction = '', unit = ''] of text.matchAll(part)) {
    sum += BigInt(whole + fraction.padEnd(decimals, '0')) * (units[unit] ?? 0n);
    read += match.length;
  }
  return read === text.length ? sum : undefined;
}
