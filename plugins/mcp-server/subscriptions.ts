import type { JsonObject } from './wire/json.js';
import { notificationText } from './wire/message.js';
import { metaNames } from './wire/names.js';

/** What a listener of the stateless era wants to hear. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

export interface Listener {
  /** The request id; every message carries it. */
  readonly id: unknown;
  readonly principal: string;
  readonly filter: SubscriptionFilter;
  send(json: string): void;
  /** The endpoint stops: the listener gets its result. */
  end(): void;
}

export interface Subscriptions {
  /** Returns what removes it again. */
  add(listener: Listener): () => void;
  announce(method: string, params: JsonObject, toWhom: (listener: Listener) => boolean): void;
  has(test: (listener: Listener) => boolean): boolean;
  close(): void;
}

export function createSubscriptions(): Subscriptions {
  const listeners = new Set<Listener>();
  return {
    add(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    announce(method, params, toWhom) {
      for (const listener of listeners) {
        if (toWhom(listener)) listener.send(taggedText(method, params, listener.id));
      }
    },
    has: (test) => [...listeners].some(test),
    close() {
      for (const listener of listeners) listener.end();
    },
  };
}

export function taggedText(method: string, params: JsonObject, id: unknown): string {
  return notificationText(method, { ...params, _meta: { [metaNames.subscriptionId]: id } });
}
