import type { Database, Disposable, Logger } from 'mortise/sdk';
import { isObject, member } from './wire/json.js';

/** What one process tells the others. A hint: rows decide. */
export type Signal =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'cancel'; readonly id: string; readonly request: string }
  | { readonly kind: 'answer'; readonly id: string; readonly request: string }
  | { readonly kind: 'resource'; readonly uri: string }
  | { readonly kind: 'task'; readonly id: string };

export interface Replicas {
  /** Tells the others, not this process. A signal that is too long is left out, and failures are logged. */
  tell(signal: Signal): Promise<void>;
  on<K extends Signal['kind']>(kind: K, run: (signal: Extract<Signal, { kind: K }>) => void): Disposable;
  listen(): Promise<Disposable>;
}

const channel = 'mcp';
/** Bytes that fit into one notification. */
const longest = 7_000;

/** @param self this process, whose own signals come back to it as well */
export function createReplicas(database: Database, self: string, log: Logger): Replicas {
  const listeners = new Map<string, Set<(signal: never) => void>>();
  return {
    async tell(signal) {
      const payload = JSON.stringify({ ...signal, from: self });
      if (Buffer.byteLength(payload) > longest) return;
      try {
        await database.notify(channel, payload);
      } catch (error) {
        log.warn({ err: error }, 'Other replicas could not be told of a change.');
      }
    },
    on(kind, run) {
      const set = listeners.get(kind) ?? new Set();
      listeners.set(kind, set);
      set.add(run as (signal: never) => void);
      return { dispose: () => void set.delete(run as (signal: never) => void) };
    },
    listen: () =>
      database.listen(channel, (payload) => {
        const signal: unknown = JSON.parse(payload);
        if (!isObject(signal) || member(signal, 'from') === self) return;
        for (const run of listeners.get(String(member(signal, 'kind'))) ?? []) run(signal as never);
      }),
  };
}
