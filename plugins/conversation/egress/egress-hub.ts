import { type EgressFacts, type EgressStatus, isAgentGenerated } from 'mortise/contracts/conversation';
import type { Observation } from 'mortise/sdk';
import { EgressQueue, type EgressQueueDeps, type Unsent } from './egress-queue.js';

export interface EgressAdapter extends EgressFacts {
  readonly key: string;
}

export interface EgressHubDeps extends EgressQueueDeps {
  /** The active adapters; the same array until contributions change. */
  readonly adapters: () => readonly EgressAdapter[];
  /** Channels that can send replies, by their adapter names (`channel:<name>`). */
  readonly channels: () => readonly string[];
  /** The adapter of the channel a session belongs to; undefined when it has none. */
  readonly channelOf: (sessionKey: string) => string | undefined;
  /** Receives what a queue had not sent when it was closed. */
  readonly undelivered: (adapter: string, unsent: Unsent) => void;
}

/** Keys of the active adapters, by what they receive. */
interface Receivers {
  readonly adapters: readonly EgressAdapter[];
  readonly alerts: readonly string[];
  /** Receive every reply in addition to its other receivers. */
  readonly everywhere: readonly string[];
  /** Receive replies of sessions without bound adapters and without a channel. */
  readonly defaults: readonly string[];
}

/**
 * Routes outbound observations to egress adapters. Enqueuing neither waits nor throws; every adapter has its own queue and
 * loop, so that a slow, failing or full adapter does not affect the others.
 */
export class EgressHub {
  readonly #deps: EgressHubDeps;
  readonly #queues = new Map<string, EgressQueue>();
  readonly #bound = new Map<string, Set<string>>();
  #receivers: Receivers | undefined;
  #closed = false;

  constructor(deps: EgressHubDeps) {
    this.#deps = deps;
  }

  bind(sessionKey: string, adapter: string): void {
    const bound = this.#bound.get(sessionKey) ?? new Set<string>();
    bound.add(adapter);
    this.#bound.set(sessionKey, bound);
  }

  unbind(sessionKey: string, adapter: string): void {
    const bound = this.#bound.get(sessionKey);
    bound?.delete(adapter);
    if (bound?.size === 0) this.#bound.delete(sessionKey);
  }

  enqueue(observation: Observation): void {
    if (this.#closed) return;
    for (const adapter of this.#route(observation)) this.#queue(adapter).enqueue(observation);
  }

  /** Counters of every adapter that is active or was used. */
  status(): readonly EgressStatus[] {
    const { adapters, channels } = this.#deps;
    const names = new Set([...adapters().map(({ key }) => key), ...channels(), ...this.#queues.keys()]);
    return [...names].map((name) => (this.#queues.get(name) ?? new EgressQueue(name, this.#deps)).status());
  }

  /** Sends what is queued for at most `ms`, and reports the rest as undelivered. */
  async close(ms: number): Promise<void> {
    this.#closed = true;
    const queues = [...this.#queues.values()];
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([Promise.all(queues.map((queue) => queue.drained())), late]);
    clearTimeout(timer);
    for (const queue of queues) {
      const unsent = queue.close();
      if (unsent.waiting.length > 0 || unsent.handedOver) this.#deps.undelivered(queue.adapter, unsent);
    }
  }

  #queue(adapter: string): EgressQueue {
    const known = this.#queues.get(adapter);
    if (known) return known;
    const added = new EgressQueue(adapter, this.#deps);
    this.#queues.set(adapter, added);
    return added;
  }

  #route(observation: Observation): Iterable<string> {
    const { obs_type: type, session_key: key = '', metadata } = observation;
    if (type === 'alert') return this.#currentReceivers().alerts;
    if (type !== 'message') return none;
    if (metadata.direction !== 'outbound' && !isAgentGenerated(observation)) return none;
    const receivers = this.#routeReply(key, metadata.answered_by);
    const { everywhere } = this.#currentReceivers();
    return everywhere.length === 0 ? receivers : new Set([...receivers, ...everywhere]);
  }

  /** The bound adapters of a session, else its channel, else the defaults. */
  #routeReply(key: string, answeredBy: unknown): Iterable<string> {
    const bound = this.#bound.get(key);
    if (typeof answeredBy === 'string') {
      // The waiting caller has the reply already; only other adapters bound to this session receive it.
      if (!bound) return none;
      for (const adapter of bound) if (isFace(adapter, answeredBy)) return withoutFace(bound, answeredBy);
      return bound;
    }
    if (bound) return bound;
    const channel = this.#deps.channelOf(key);
    return channel === undefined ? this.#currentReceivers().defaults : [channel];
  }

  /** Computed once for each set of active adapters. */
  #currentReceivers(): Receivers {
    const adapters = this.#deps.adapters();
    if (this.#receivers?.adapters === adapters) return this.#receivers;
    const keys = (takes: (adapter: EgressAdapter) => boolean | undefined) =>
      adapters.filter(takes).map(({ key }) => key);
    this.#receivers = {
      adapters,
      // In addition to messages, which every adapter receives.
      alerts: keys(({ accepts }) => accepts?.includes('alert')),
      everywhere: keys(({ everywhere }) => everywhere),
      defaults: keys((adapter) => adapter.default),
    };
    return this.#receivers;
  }
}

const none: readonly string[] = Object.freeze([]);

const channelPrefix = 'channel:';

/** Whether an adapter belongs to a face: the face's own name, or its channel. Compared without allocating. */
function isFace(adapter: string, face: string): boolean {
  if (adapter.length === face.length) return adapter === face;
  const channel = adapter.length === face.length + channelPrefix.length && adapter.startsWith(channelPrefix);
  return channel && adapter.endsWith(face);
}

function withoutFace(bound: ReadonlySet<string>, face: string): readonly string[] {
  return [...bound].filter((adapter) => !isFace(adapter, face));
}
