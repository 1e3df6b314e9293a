import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** NUL and lone surrogates in JSON text, where they are escapes: after an even number of backslashes. */
const UNSTORABLE_ESCAPE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/** Whether a text holds NUL or lone surrogates: PostgreSQL cannot store them, so a hash over them would not match. */
export function isUnstorableText(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}

/** Whether JSON text, as `JSON.stringify` writes it, has strings with NUL or lone surrogates. */
export function isUnstorableJson(json: string): boolean {
  return json.includes('\\u') && UNSTORABLE_ESCAPE.test(json);
}

const BLANK = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether a text is empty or has only white space and invisible characters. */
export function isBlankText(text: string): boolean {
  return BLANK.test(text);
}

/** Control characters, line ends, and characters that change the direction of the rest. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Text from outside as one line for a terminal or a log: control characters are replaced. */
export function oneLine(text: string): string {
  return text.replace(UNPRINTABLE, '·');
}

/** A text of several lines for a terminal: what could move the cursor, clear the screen or reorder a line is replaced. */
export function printableText(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(oneLine).join('\t'))
    .join('\n');
}

/** JSON text for a terminal. `JSON.stringify` escapes only the older half of the control characters. */
export function printableJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, undefined, indent) ?? 'null';
  return json.replace(/[\x7f-\x9f\p{Bidi_Control}\u2028\u2029]/gu, (character) =>
    [...character].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  );
}

const ISO = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** `+0200` as `+02:00`, the form that every engine parses. */
function zoneOf(zone: string | undefined): string {
  if (zone === undefined || zone === 'Z') return 'Z';
  return zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
}

/**
 * Parses an ISO 8601 date or time. Without a zone it is UTC.
 *
 * @returns UTC with milliseconds and `Z`; undefined for an invalid time, such as 30 February.
 */
export function readTime(text: string): string | undefined {
  const [, day, clock = '00:00', zone] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  const midnight = new Date(`${day}T00:00:00Z`);
  // A day that the month does not have would roll over to the next month.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return undefined;
  const at = new Date(`${day}T${clock}${zoneOf(zone)}`);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Bytes of base64 (RFC 4648) in either alphabet, with or without padding, white space ignored. Returns undefined for anything else:
 * `Buffer.from` would skip invalid characters.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replaceAll(/\s+/g, '');
  const isWhole = packed.endsWith('=') ? packed.length % 4 === 0 : packed.length % 4 !== 1;
  if (!isWhole || !BASE64.test(packed)) return undefined;
  return Buffer.from(packed.replaceAll('-', '+').replaceAll('_', '/'), 'base64');
}

/** Random bytes generated in bulk: generating them one by one costs 100 µs per id. */
const pool = new Uint8Array(4_096);
let used = pool.length;

/** A random number from 0 to below 1 for the library: 256 steps are uniform over its 32 letters. */
function random(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used] ?? 0;
  used += 1;
  return byte / 256;
}

const next = monotonicFactory(random);

/** A new ULID in lower case, 26 characters: ids of one process sort by creation time, also within a millisecond. */
export function newUlid(): string {
  return next().toLowerCase();
}
