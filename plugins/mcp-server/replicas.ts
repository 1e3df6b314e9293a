import type { Database, Disposable, Logger } from 'mortise/sdk';
import { isObject, type JsonObject, member } from './wire/json.js';

/** What one process tells the others. A hint: rows decide. */
export type Signal =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'cancel'; readonly id: string; readonly request: string }
  | { readonly kind: 'answer'; readonly id: string; readonly request: string; readonly body: JsonObject }
  | { readonly kind: 'task'; readonly id: string };

export interface Replicas {
  /** False: the signal is too long to be sent. Failures are logged. */
  tell(signal: Signal): Promise<boolean>;
  on<K extends Signal['kind']>(kind: K, run: (signal: Extract<Signal, { kind: K }>) => void): Disposable;
  listen(): Promise<Disposable>;
}

const channel = 'mcp';
/** Bytes that fit into one notification. */
const longest = 7_000;

export function createReplicas(database: Database, log: Logger): Replicas {
  const listeners = new Map<string, Set<(signal: never) => void>>();
  return {
    async tell(signal) {
      const payload = JSON.stringify(signal);
      if (Buffer.byteLength(payload) > longest) return false;
      try {
        await database.notify(channel, payload);
        return true;
      } catch (error) {
        log.warn({ err: error }, 'Other replicas could not be told of a change.');
        return false;
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
        if (!isObject(signal)) return;
        for (const run of listeners.get(String(member(signal, 'kind'))) ?? []) run(signal as never);
      }),
  };
}
