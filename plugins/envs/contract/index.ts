import type { CallContext, Disposable, TransactionOption } from 'mortise/sdk';

export * from './credentials.js';

/** The service `envs`: variables that people store for tools, skills and model providers. */
export interface EnvsService {
  /** A stored value, in clear. */
  get(key: string): string | undefined;
  /** All stored values, in clear, by key. */
  all(): ReadonlyMap<string, string>;
  /** Those that processes of tools and skills get: never `PATH`, `HOME` and the platform's own settings. */
  exported(): Readonly<Record<string, string>>;
  /** All of them with credentials masked. */
  masked(): Readonly<Record<string, string>>;
  /**
   * Checks a map of the API; values that are the mask of the stored one become the stored one.
   * @throws invalid_env_key, invalid_json
   */
  parse(body: unknown): ReadonlyMap<string, string>;
  /** Replaces all variables, in the caller's transaction if there is one. */
  replaceAll(values: ReadonlyMap<string, string>, ctx: CallContext, options?: TransactionOption): Promise<void>;
  /** Reads what a transaction of the caller has stored. Await it after the commit, so that the next request sees it. */
  refresh(): Promise<unknown>;
  /** Calls after each change, on this or another replica. */
  onChange(run: () => void): Disposable;
}

declare module 'mortise/sdk' {
  interface Services {
    envs: EnvsService;
  }
}
