/** How a point's contributions are called; decided by the point, not by the caller. */
export type Dispatch =
  /** One contribution, named by the caller, the binding or the configuration. */
  | 'selected'
  /** All of them, in declared order. */
  | 'ordered'
  /** All of them, in order and synchronously, through `host.points.pipeline`. */
  | 'synchronous';

/**
 * Grammar of a point's keys, each at most 64 characters: `plugin` is that of plugin keys (`web-search`), `dotted` also
 * allows dots and doubled separators (`chat.send`, `mcp__files__read`).
 */
export type KeyGrammar = 'plugin' | 'dotted';

/** Declaration of an extension point, of the platform or of a plugin whose manifest opens it. */
export interface ExtensionPointDeclaration {
  readonly name: string;
  readonly summary: string;
  readonly dispatch: Dispatch;
  /** `plugin` when absent. */
  readonly keys?: KeyGrammar;
  /** Keys that contributions must not use. */
  readonly reserved?: readonly string[];
  /** Keys are unique within their plugin only; callers address a contribution as `plugin/key`. */
  readonly privateKeys?: boolean;
  /** The caller of its contributions watches the point while it runs; without a watcher they are never called. */
  readonly watched?: boolean;
  /** JSON Schema of the data part. */
  readonly factsSchema: Readonly<Record<string, unknown>>;
  /** Members that must be functions. */
  readonly functions: readonly string[];
  /** Members that must be functions when present. */
  readonly optionalFunctions?: readonly string[];
  /** Default time limit of one call, milliseconds; 0 = none (the caller's signal decides). */
  readonly timeoutMs: number;
  /** What a failing contribution means to the caller. */
  readonly failure: string;
}

/** Grammar of plugin keys and, by default, of contribution keys; at most 64 characters. */
export const pluginKeyPattern = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;

const keyPatterns: Readonly<Record<KeyGrammar, RegExp>> = {
  plugin: pluginKeyPattern,
  dotted: /^[a-z][a-z0-9]*([-_.]{1,2}[a-z0-9]+)*$/,
};

/** Whether a contribution to the point may have this key. */
export function isContributionKey(point: Pick<ExtensionPointDeclaration, 'keys' | 'reserved'>, key: string): boolean {
  const reserved = point.reserved?.some((name) => canonicalKey(name) === canonicalKey(key));
  return key.length <= 64 && !reserved && keyPatterns[point.keys ?? 'plugin'].test(key);
}

/** Normalizes a key: keys that differ only in `-` and `_` are equal. */
export function canonicalKey(key: string): string {
  return key.replaceAll('_', '-');
}
