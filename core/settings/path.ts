import { isJsonObject } from '../sdk/json.js';

type JsonObject = Record<string, unknown>;

/** An own member: names such as `constructor` are not found by accident. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
}

export function getAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(member, value);
}

/** Sets a value and creates the objects along the path. A value that is not an object is replaced by one. */
export function setAt(target: JsonObject, path: readonly string[], value: unknown): void {
  let current = target;
  for (const name of path.slice(0, -1)) {
    const next = member(current, name);
    const inner: JsonObject = isJsonObject(next) ? next : {};
    if (next !== inner) define(current, name, inner);
    current = inner;
  }
  const last = path.at(-1);
  if (last !== undefined) define(current, last, value);
}

export function removeAt(target: JsonObject, path: readonly string[]): void {
  const parent = getAt(target, path.slice(0, -1));
  const last = path.at(-1);
  if (isJsonObject(parent) && last !== undefined) Reflect.deleteProperty(parent, last);
}

function define(target: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

export function toPointer(path: readonly string[]): string {
  return path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export function fromPointer(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Stands for each entry of a list, or each member of an object, in the path of a property. */
export const anyEntry = '*';

/** Whether `path` is `parent` or is inside it. */
export function isAtOrBelow(parent: readonly string[], path: readonly string[]): boolean {
  return parent.length <= path.length && parent.every((name, index) => name === path[index] || name === anyEntry);
}

/** The values at a path that may go through the entries of lists and objects. */
export function allAt(value: unknown, path: readonly string[]): readonly unknown[] {
  const [name, ...rest] = path;
  if (name === undefined) return value === undefined ? [] : [value];
  if (name === anyEntry) {
    return typeof value === 'object' && value !== null
      ? Object.values(value).flatMap((entry) => allAt(entry, rest))
      : [];
  }
  return allAt(member(value, name), rest);
}
