import { isJsonObject, isUnstorableText, type ObservationActor, type ObservationError } from 'mortise/sdk';
import { copyBelow, frozenCopy } from './frozen-copy.js';

/** Collects one error of an observation. */
export type ReportProblem = (path: string, code: ObservationError['code'], message: string) => void;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
export const controlCharacters = /[\u0000-\u001f\u007f]/;

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** The value if it is in the list; otherwise reports a problem and returns the first of the list. */
export function oneOf<T extends string>(value: unknown, allowed: readonly T[], path: string, report: ReportProblem): T {
  if ((allowed as readonly unknown[]).includes(value)) return value as T;
  report(path, 'enum', `${path} must be one of: ${allowed.join(', ')}`);
  return allowed[0] as T;
}

const actorTypes = ['user', 'system', 'service', 'unknown'] as const;
/** Characters of a name or an id. */
const nameLength = 1_024;

/** A frozen copy of the actor; undefined when none is given. */
export function readActor(value: unknown, report: ReportProblem): ObservationActor | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) {
    report('actor', 'payload_mismatch', 'actor must be an object');
    return undefined;
  }
  const actor: { -readonly [Member in keyof ObservationActor]: ObservationActor[Member] } = {
    actor_type: oneOf(value.actor_type ?? 'unknown', actorTypes, 'actor.actor_type', report),
  };
  for (const member of ['actor_id', 'display_name', 'tenant_id'] as const) {
    const name = value[member];
    if (name === undefined || name === null || name === '') continue;
    if (!isText(name)) report(`actor.${member}`, 'payload_mismatch', `${member} must be a text`);
    else if (name.length > nameLength) report(`actor.${member}`, 'too_long', `${member} is too long`);
    else if (member !== 'display_name' && isUnstorableText(name)) {
      report(`actor.${member}`, 'payload_mismatch', `${member} must not have NUL characters or lone surrogates`);
    } else actor[member] = name;
  }
  if (isJsonObject(value.extra)) actor.extra = frozenCopy(value.extra);
  return Object.freeze(actor);
}

const metadataBytes = 16 * 1_024;

type Metadata = Readonly<Record<string, unknown>>;

export const noMetadata: Metadata = Object.freeze({});

/** A copy of the metadata that may be added to; what is nested in it is frozen. */
export function readMetadata(value: unknown, report: ReportProblem): Metadata {
  if (value === undefined || value === null) return noMetadata;
  if (!isJsonObject(value)) {
    report('metadata', 'payload_mismatch', 'metadata must be an object');
    return noMetadata;
  }
  if (upperBoundOfBytes(value) > metadataBytes && !(jsonBytes(value) <= metadataBytes)) {
    report('metadata', 'too_long', 'metadata must be an object of at most 16 KiB as JSON');
    return noMetadata;
  }
  return copyBelow({ ...value });
}

/** An upper bound of the JSON size that needs no serialisation; infinite for nested values. */
function upperBoundOfBytes(value: Metadata): number {
  let bytes = 2;
  for (const name of Object.keys(value)) {
    const member = value[name];
    bytes += 4 + name.length * 6;
    if (typeof member === 'string') bytes += 2 + member.length * 6;
    else if (typeof member === 'number' || typeof member === 'boolean' || member == null) bytes += 25;
    else return Number.POSITIVE_INFINITY;
  }
  return bytes;
}

/** NaN when the value cannot be serialised. */
function jsonBytes(value: Metadata): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.NaN;
  }
}

const withOffset = /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

let lastMillis = Number.NaN;
let lastTime = '';

/** RFC 3339 UTC with milliseconds. The last result is cached: many observations arrive in the same millisecond. */
export function timeOf(millis: number): string {
  if (millis !== lastMillis) {
    lastTime = new Date(millis).toISOString();
    lastMillis = millis;
  }
  return lastTime;
}

/** The event's own time; `now` (epoch milliseconds) when it has none. */
export function readTime(value: unknown, now: number, report: ReportProblem): string {
  if (value === undefined || value === null) return timeOf(now);
  const day = isText(value) ? withOffset.exec(value)?.[1] : undefined;
  const at = isText(value) && day !== undefined && isDay(day) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) {
    report('timestamp', 'naive_datetime', 'timestamp must be an RFC 3339 time with an offset');
    return '';
  }
  return new Date(at).toISOString();
}

/** Date.parse reads the 30th of February as the 2nd of March. */
function isDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}
