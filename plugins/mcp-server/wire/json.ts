export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of its own: `__proto__` and the like are data. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The members of an object as JSON text without the braces, for putting several sources into one object. */
export function membersText(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

/** One JSON object out of member texts; empty ones are left out. */
export function objectText(...members: readonly string[]): string {
  return `{${members.filter((text) => text !== '').join(',')}}`;
}

/** Nesting depth is refused beyond `limit`; arrays and objects count alike. */
export function deeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (limit === 0) return true;
  for (const child of Object.values(value)) {
    if (deeperThan(child, limit - 1)) return true;
  }
  return false;
}
