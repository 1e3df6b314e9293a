/** What the tool's schema publishes, and the one argument that it takes beside. */
const known: readonly string[] = [
  'content',
  'content_type',
  'title',
  'actor_user_id',
  'project_key',
  'item_id',
  'content_encoding',
];

/** Names that the upload ignores, told in its answer. */
export function unknownArguments(args: Readonly<Record<string, unknown>>): readonly string[] {
  const names = Object.keys(args).filter((name) => !known.includes(name));
  return names.map((name) => `unknown argument: ${name.slice(0, 128)}`);
}

/** The result of an upload, with the names of what was ignored behind its own warnings. */
export function withUnknown<T extends object>(
  result: T & { readonly warnings?: readonly string[] },
  unknown: readonly string[],
) {
  return unknown.length === 0 ? result : { ...result, warnings: [...(result.warnings ?? []), ...unknown] };
}
