import type { GateOverrideKey, GateOverrides } from 'mortise/contracts/gate';
import { MortiseError } from 'mortise/sdk';

const listLimit = 10_000;
const textLimit = 1_024;

const kinds: Readonly<Record<GateOverrideKey, 'flag' | 'list'>> = {
  emergency_mode: 'flag',
  force_low_model: 'flag',
  drop_sessions: 'list',
  drop_actors: 'list',
  deliver_sessions: 'list',
  deliver_actors: 'list',
};

export const overrideKeys = Object.keys(kinds) as readonly GateOverrideKey[];

export function isOverrideKey(key: string): key is GateOverrideKey {
  return Object.hasOwn(kinds, key);
}

/** @throws MortiseError `invalid_override` with the path and, for an unknown key, the nearest known one */
export function readOverride(
  key: string,
  value: unknown,
): { readonly key: GateOverrideKey; readonly value: GateOverrides[GateOverrideKey] } {
  if (!isOverrideKey(key)) {
    const nearest = nearestOf(key, overrideKeys);
    throw overrideError(key, `There is no override "${key.slice(0, 64)}"; did you mean "${nearest}"?`, { nearest });
  }
  if (kinds[key] === 'flag') {
    if (typeof value !== 'boolean') throw overrideError(key, `${key} must be true or false.`);
    return { key, value };
  }
  if (!Array.isArray(value) || value.length > listLimit || !value.every(isEntry)) {
    throw overrideError(key, `${key} must be a list of at most ${listLimit} texts.`);
  }
  return { key, value: Object.freeze([...new Set<string>(value)]) };
}

export function overrideError(key: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
  return new MortiseError('invalid_override', message, {
    status: 400,
    details: { path: `/overrides/${key.slice(0, 64)}`, ...details },
  });
}

function isEntry(entry: unknown): boolean {
  return typeof entry === 'string' && entry !== '' && entry.length <= textLimit;
}

/** The name that needs the fewest changed letters. */
function nearestOf(word: string, names: readonly string[]): string {
  const short = word.slice(0, 64);
  return [...names].sort((a, b) => distance(short, a) - distance(short, b))[0] ?? '';
}

/** Levenshtein. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
