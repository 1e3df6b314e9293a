import type { JsonObject } from 'mortise/sdk';
import { notificationText } from './wire/message.js';
import { metaNames } from './wire/protocol.js';

/** The notifications that a client of the stateless revision subscribed to with `subscriptions/listen`. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

interface Subscriber {
  /** The request id, which every message to it carries. */
  readonly id: unknown;
  readonly principal: string;
  readonly filter: SubscriptionFilter;
  send(json: string): void;
  /** Called when the endpoint stops: the request gets its result. */
  end(): void;
}

export interface Subscriptions {
  /** Returns a function that removes the subscriber. */
  add(subscriber: Subscriber): () => void;
  announce(method: string, params: JsonObject, matches: (subscriber: Subscriber) => boolean): void;
  has(matches: (subscriber: Subscriber) => boolean): boolean;
  close(): void;
}

export function createSubscriptions(): Subscriptions {
  const subscribers = new Set<Subscriber>();
  return {
    add(subscriber) {
      subscribers.add(subscriber);
      return () => void subscribers.delete(subscriber);
    },
    announce(method, params, matches) {
      for (const subscriber of subscribers) {
        if (matches(subscriber)) subscriber.send(taggedText(method, params, subscriber.id));
      }
    },
    has: (matches) => [...subscribers].some(matches),
    close() {
      for (const subscriber of subscribers) subscriber.end();
    },
  };
}

/** A notification tagged with the id of its subscription. */
export function taggedText(method: string, params: JsonObject, id: unknown): string {
  return notificationText(method, { ...params, _meta: { [metaNames.subscriptionId]: id } });
}
