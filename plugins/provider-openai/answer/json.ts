import { providerError } from '../errors.js';

export type Json = Readonly<Record<string, unknown>>;

/** The value as an object; an empty one for anything else. */
export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** @throws provider_invalid_reply for a text that is no JSON object */
export function parseObject(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw providerError('provider_invalid_reply');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw providerError('provider_invalid_reply');
  return value as Json;
}
