import type { MemoryItem, MemorySearch } from 'mortise/sdk';
import type { Json } from '../json.js';

export type DialectName = 'search' | 'query';

/** What a server says it stored. */
export interface StoreAnswer {
  readonly id: string | undefined;
  readonly deduplicated: boolean;
}

/** One of the two HTTP interfaces: how its requests look, and where in its answers things are. */
export interface Dialect {
  readonly name: DialectName;
  authorisation(apiKey: string): Readonly<Record<string, string>>;
  isHealthy(body: Json): boolean;
  storeBody(item: MemoryItem): object;
  storeAnswer(body: Json): StoreAnswer;
  readonly searchPath: string;
  searchBody(search: MemorySearch): { readonly body: object; readonly unknownFilters: readonly string[] };
  /** The member of a search's answer that holds the hits. */
  readonly hits: string;
  /** Undefined where the interface cannot list. */
  readonly listPath?: (limit: number, offset: number) => string;
}
