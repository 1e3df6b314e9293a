/** How a point's contributions are reached; the caller does not choose. */
export type Dispatch =
  /** One contribution, named by the caller, the binding or the configuration. */
  | 'selected'
  /** All of them, in declared order. */
  | 'ordered'
  /** All of them, in order, without promises, through `host.points.pipeline`. */
  | 'synchronous';

/** What the kernel knows of an extension point. */
export interface ExtensionPointDeclaration {
  readonly name: string;
  readonly summary: string;
  readonly dispatch: Dispatch;
  /** Grammar of its keys; the plugin key grammar when absent. */
  readonly keyPattern?: RegExp;
  /** Its keys are names within their plugin, which other plugins may use as well; a caller then says `plugin/key`. */
  readonly privateKeys?: boolean;
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

const keyGrammar = '[a-z][a-z0-9]*([-_][a-z0-9]+)*';

/** Plugin keys and, unless the point says otherwise, contribution keys; at most 64 characters. */
export const pluginKeyPattern = new RegExp(`^${keyGrammar}$`);

/** The same without names that a point keeps for itself. */
export function keysWithout(...reserved: readonly string[]): RegExp {
  return new RegExp(`^(?!(?:${reserved.join('|')})$)${keyGrammar}$`);
}

/** Keys with dots and doubled underscores: `chat.send`, `mcp__files__read`. */
export const dottedKeyPattern = /^[a-z][a-z0-9]*([-_.]{1,2}[a-z0-9]+)*$/;

/** Two keys that differ only in `-` and `_` are the same key. */
export function canonicalKey(key: string): string {
  return key.replaceAll('_', '-');
}
