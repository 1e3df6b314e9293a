import { isUnstorableText } from 'mortise/sdk';

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; an empty one for anything else. */
export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** An id as text; undefined for what is none, or none that a database could hold. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && value !== '' && !isUnstorableText(value) ? value : undefined;
}
