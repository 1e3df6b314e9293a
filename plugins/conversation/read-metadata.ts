import { isObject, type Problems } from './problems.js';

const byteLimit = 16 * 1_024;

type Metadata = Readonly<Record<string, unknown>>;

export const noMetadata: Metadata = Object.freeze({});

/** A copy of the metadata that may be added to. */
export function readMetadata(value: unknown, problems: Problems): Metadata {
  if (value === undefined || value === null) return noMetadata;
  if (!isObject(value)) {
    problems('metadata', 'payload_mismatch', 'metadata must be an object');
    return noMetadata;
  }
  if (mostBytes(value) > byteLimit && !(bytesOf(value) <= byteLimit)) {
    problems('metadata', 'too_long', 'metadata must be an object of at most 16 KiB as JSON');
    return noMetadata;
  }
  return { ...value };
}

/** No less than what it takes as JSON, found without writing it; infinite for what is nested. */
function mostBytes(value: Metadata): number {
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

/** Not a number when it cannot be written as JSON. */
function bytesOf(value: Metadata): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.NaN;
  }
}
