import { redactSecrets } from 'mortise/sdk';

/** What looks at a JSON value. Paths are JSON Pointers, in which names that are secrets are not told. */
export interface Visitor {
  /** A text, and the name of its nearest member. @returns the text to put in its place. */
  text(text: string, path: string, name: string): string;
  /** The name of a member, and the path of the object that has it. @returns the name to give it instead. */
  name(name: string, path: string): string;
}

/** A JSON value with its texts and names as the visitor returns them; the very same value where nothing changed. */
export function replaceTexts<T>(value: T, path: string, visitor: Visitor): T {
  return replaced(value, path, '', visitor) as T;
}

function replaced(value: unknown, path: string, name: string, visitor: Visitor): unknown {
  if (typeof value === 'string') return visitor.text(value, path, name);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => replaced(item, `${path}/${index}`, name, visitor));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const taken = new Set(Object.keys(value));
  let isChanged = false;
  const members = Object.entries(value).map(([key, member]): [string, unknown] => {
    const found = replaced(member, `${path}/${pointerPart(key)}`, key, visitor);
    const shown = visitor.name(key, path);
    if (shown === key) {
      isChanged ||= found !== member;
      return [key, found];
    }
    isChanged = true;
    return [freeName(shown, taken), found];
  });
  return isChanged ? Object.fromEntries(members) : value;
}

/** Two names that were different stay so. */
function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted} (${count})`;
  taken.add(name);
  return name;
}

/** RFC 6901, section 3. */
function pointerPart(name: string): string {
  return redactSecrets(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
