/** A text inside a JSON value: where it is, as a JSON Pointer, and the name of its nearest member. */
export type Visit = (text: string, path: string, name: string) => string;

/** A JSON value with its texts as `visit` returns them; the very same value where nothing changed. Names are left alone. */
export function replaceTexts<T>(value: T, path: string, visit: Visit): T {
  return replaced(value, path, '', visit) as T;
}

function replaced(value: unknown, path: string, name: string, visit: Visit): unknown {
  if (typeof value === 'string') return visit(value, path, name);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => replaced(item, `${path}/${index}`, name, visit));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]): [string, unknown] => [
    key,
    replaced(member, `${path}/${pointerPart(key)}`, key, visit),
  ]);
  return members.some(([key, member]) => member !== Reflect.get(value, key)) ? Object.fromEntries(members) : value;
}

/** RFC 6901, section 3. */
function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
