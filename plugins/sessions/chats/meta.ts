type Meta = Readonly<Record<string, unknown>>;

/** Members of the patch win; one that is undefined is removed. */
export function mergeMeta(meta: Meta, patch: Meta): Meta {
  return Object.fromEntries(Object.entries({ ...meta, ...patch }).filter(([, value]) => value !== undefined));
}
