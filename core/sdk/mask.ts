import type { Disposable } from './context.js';
import { redactForms } from './secret-forms.js';
import { SecretValues } from './secret-values.js';

const sensitiveNames = new Set([
  'api_key',
  'apikey',
  'client_secret',
  'secret',
  'password',
  'passphrase',
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-admin-key',
]);

const sensitiveEnding = /[_-](?:key|token|secret)$|_password$/;

/**
 * Whether a member, header or variable of this name holds a secret: `api_key`, `password`, `authorization`, …, or an
 * ending in `_key`, `-key`, `_token`, `-token`, `_secret`, `-secret` or `_password`. Case does not matter; `apiKey` is
 * read as `api_key`.
 */
export function isSensitiveName(name: string): boolean {
  const lower = name.replace(/([a-z0-9])(?=[A-Z][a-z])/g, '$1_').toLowerCase();
  return sensitiveNames.has(lower) || sensitiveEnding.test(lower);
}

/** Masks a secret: `***`, or its first and last two characters when it has sixteen or more. */
export function maskSecret(value: string): string {
  const points = [...value];
  return points.length < 16 ? '***' : `${points.slice(0, 2).join('')}***${points.slice(-2).join('')}`;
}

/** A copy of a JSON value in which members with a sensitive name are masked, and secrets inside texts are redacted. */
export function maskDeep(value: unknown): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (Array.isArray(value)) return value.map(maskDeep);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSensitiveName(name) && member !== null && member !== undefined ? maskMember(member) : maskDeep(member),
    ]),
  );
}

function maskMember(member: unknown): unknown {
  return typeof member === 'string' ? (member === '' ? '' : maskSecret(member)) : '***';
}

const secretValues = new SecretValues();

/**
 * Registers a configured value to be masked in every text that this process cleans, whatever its form. A short value, or a
 * word such as `postgres`, would mask ordinary text instead; only logs leave those out.
 */
export function concealSecret(value: string): Disposable {
  return isDistinctive(value) ? secretValues.add(value) : { dispose: () => undefined };
}

function isDistinctive(value: string): boolean {
  return value.length >= 16 || (value.length >= 8 && /[^a-z]/i.test(value));
}

/** Removes secrets: values that are configured here, and what has the form of a token, a key, `password=…`, …. */
export function redactSecrets(text: string): string {
  return redactForms(secretValues.redact(text));
}

/** A copy of plain data in which secrets inside texts are removed; names are not considered, other objects are returned unchanged. */
export function redactDeep<T>(value: T): T {
  return redactValue(value, 0) as T;
}

const deepest = 16;

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (typeof value !== 'object' || value === null || depth >= deepest) return value;
  if (Array.isArray(value)) return value.map((member) => redactValue(member, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactValue(member, depth + 1)]));
}
