import type { DatabaseCodec } from '../sdk/host/database.js';
import { errorKind } from './errors.js';

/** `2026-11-20 08:30:00.123+00`, as PostgreSQL writes times; seconds may have up to six decimals. */
const postgresTime = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|([+-]\d{2})(?::?(\d{2}))?(?::?\d{2})?)?$/;

/** A time in its final form, on a day that every month has: most times stored on SQLite need no parsing. */
const canonicalTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** The one encoding of times, JSON, flags and 64-bit integers, the same on both dialects. */
export const codec: DatabaseCodec = {
  json: (value) => replaceUnstorable(JSON.stringify(value === undefined ? null : value)),
  parseJson: <T>(stored: unknown): T => (typeof stored === 'string' ? JSON.parse(stored) : (stored ?? null)) as T,
  time: (at) => isoTime(at),
  parseTime: (stored) => (stored === null || stored === undefined ? null : isoTime(stored as Date | number | string)),
  parseFlag: (stored) => stored === true || stored === 1 || stored === '1' || stored === 't' || stored === 'true',
  parseInteger,
  errorKind,
};

/**
 * ISO 8601 UTC with milliseconds and `Z`. Numbers are epoch milliseconds; text without a zone is UTC.
 * @throws RangeError for an invalid time.
 */
function isoTime(at: Date | number | string): string {
  if (typeof at !== 'string') return new Date(at).toISOString();
  if (canonicalTime.test(at)) return at;
  const parts = postgresTime.exec(at);
  if (parts === null) return new Date(at).toISOString();
  const milliseconds = `${(parts[3] ?? '.').slice(1)}000`.slice(0, 3);
  const zone = parts[4] === undefined ? 'Z' : `${parts[4]}:${parts[5] ?? '00'}`;
  return new Date(`${parts[1]}T${parts[2]}.${milliseconds}${zone}`).toISOString();
}

/** @throws RangeError for other values, and integers that a number cannot represent. */
function parseInteger(stored: unknown): number {
  const value = typeof stored === 'number' ? stored : Number(stored);
  if (stored === null || stored === '' || !Number.isSafeInteger(value)) {
    throw new RangeError('The stored value is not an integer that a number can represent.');
  }
  return value;
}

/**
 * jsonb rejects the escapes of NUL and of lone surrogates, SQLite accepts both: what one of them would
 * refuse is replaced by U+FFFD, so that no write fails on one dialect alone.
 */
function replaceUnstorable(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|[\s\S])/g, (found) =>
    /^\\u(?:0000|d[89a-f])/.test(found) ? '\uFFFD' : found,
  );
}

/** Text that both dialects can store: PostgreSQL refuses NUL in text. */
export function storableText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}
