type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A frozen copy of an object and of everything below it: what is published neither changes nor remains shared with its
 * publisher. Values are copied as JSON has them: an object with `toJSON` (a date) becomes its JSON form.
 *
 * @throws RangeError for an object that contains itself
 */
export function frozenCopy(value: JsonObject): JsonObject {
  return Object.freeze(copyBelow({ ...value }));
}

/** Replaces the nested values of a new object by frozen copies; the object itself stays writable. */
export function copyBelow(copy: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(copy)) {
    const member = copy[name];
    if (typeof member === 'object' && member !== null) copy[name] = frozenValue(member);
  }
  return copy;
}

function frozenValue(value: object): unknown {
  if (Array.isArray(value)) {
    return Object.freeze(value.map((item) => (typeof item === 'object' && item !== null ? frozenValue(item) : item)));
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const json: unknown = value.toJSON();
    return typeof json === 'object' && json !== null ? frozenValue(json) : json;
  }
  return frozenCopy(value as JsonObject);
}
