import { type Database, type Disposable, isJsonObject, type Logger } from 'mortise/sdk';
import { member } from './wire/params.js';

/** A notification from one process to the others. It is only a hint: the rows decide. */
type Signal =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'cancel'; readonly id: string; readonly request: string }
  | { readonly kind: 'answer'; readonly id: string; readonly request: string }
  | { readonly kind: 'resource'; readonly uri: string }
  | { readonly kind: 'task'; readonly id: string };

export interface Replicas {
  /** Notifies the other processes. A signal that is too long is dropped; failures are logged. */
  notify(signal: Signal): Promise<void>;
  on<K extends Signal['kind']>(kind: K, run: (signal: Extract<Signal, { kind: K }>) => void): Disposable;
  listen(): Promise<Disposable>;
}

const channel = 'mcp';
/** Bytes that fit into one notification. */
const maxBytes = 7_000;

/** @param self id of this process, which receives its own signals as well and ignores them */
export function createReplicas(database: Database, self: string, log: Logger): Replicas {
  const listeners = new Map<string, Set<(signal: never) => void>>();
  return {
    async notify(signal) {
      const payload = JSON.stringify({ ...signal, from: self });
      if (Buffer.byteLength(payload) > maxBytes) return;
      try {
        await database.notify(channel, payload);
      } catch (error) {
        log.warn({ err: error }, 'Other replicas could not be notified of a change.');
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
        if (!isJsonObject(signal) || member(signal, 'from') === self) return;
        for (const run of listeners.get(String(member(signal, 'kind'))) ?? []) run(signal as never);
      }),
  };
}
