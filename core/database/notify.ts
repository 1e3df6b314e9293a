import type { Disposable } from '../sdk/context.js';
import type { Transaction } from '../sdk/host/database.js';
import { databaseError } from './errors.js';

const maxPayloadBytes = 7_000;

export interface Listener {
  readonly run: (payload: string) => void;
  readonly missed: (() => void) | undefined;
}

/** Carries short messages between plugins of one kind in all processes. */
export interface NotificationBus {
  /** @param topic `<plugin>:<channel>` */
  notify(topic: string, payload: string, trx: Transaction | undefined): Promise<void>;
  listen(topic: string, listener: Listener): Promise<Disposable>;
  close(): Promise<void>;
}

/** The listeners of this process, by topic. One that throws does not keep the others from hearing. */
export class Listeners {
  readonly #byTopic = new Map<string, Set<Listener>>();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  add(topic: string, listener: Listener): Disposable {
    const listeners = this.#byTopic.get(topic) ?? new Set();
    this.#byTopic.set(topic, listeners.add(listener));
    return {
      dispose: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#byTopic.get(topic) === listeners) this.#byTopic.delete(topic);
      },
    };
  }

  deliver(topic: string, payload: string): void {
    for (const listener of [...(this.#byTopic.get(topic) ?? [])]) this.#guarded(() => listener.run(payload));
  }

  missed(): void {
    for (const listener of [...this.#byTopic.values()].flatMap((listeners) => [...listeners])) {
      this.#guarded(() => listener.missed?.());
    }
  }

  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** @throws MortiseError `notification_invalid` */
export function notificationTopic(plugin: string, channel: string, payload = ''): string {
  if (!/^[\x21-\x7e]{1,64}$/.test(channel) || Buffer.byteLength(payload) > maxPayloadBytes || payload.includes('\0')) {
    throw databaseError('notification_invalid');
  }
  return `${plugin}:${channel}`;
}
