import { isJsonObject } from '../sdk/json.js';
import { secretReference } from './compute.js';

/**
 * Applies a merge patch (RFC 7396): members of objects are merged, `null` removes one, and everything else replaces. A
 * reference to a secret is a value: it is replaced as a whole.
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch) || secretReference(patch) !== undefined) return patch;
  const merged = new Map(isJsonObject(target) && secretReference(target) === undefined ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, applyMergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
