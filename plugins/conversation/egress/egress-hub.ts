import type { EgressFacts, EgressStatus } from 'mortise/contracts/conversation';
import type { Observation } from 'mortise/sdk';
import { isAgentGenerated } from '../loop-guard.js';
import { EgressQueue, type EgressQueuePorts, type Unsent } from './egress-queue.js';

export interface EgressAdapter extends EgressFacts {
  readonly key: string;
}

export interface EgressHubPorts extends EgressQueuePorts {
  /** Adapters that are there now. */
  readonly adapters: () => readonly EgressAdapter[];
  /** Channels that replies may leave through, by the names that they have as adapters. */
  readonly channels: () => readonly string[];
  /** The adapter that reaches the people of a session through its own channel; undefined when there is none. */
  readonly channelOf: (sessionKey: string) => string | undefined;
  readonly undelivered: (adapter: string, unsent: Unsent) => void;
}

/** Keys of adapters, by what they take. */
interface Doors {
  readonly adapters: readonly EgressAdapter[];
  readonly alerts: readonly string[];
  /** Take every reply, whoever else does. */
  readonly everywhere: readonly string[];
  /** Take replies of sessions that nobody else listens to. */
  readonly usual: readonly string[];
}

/**
 * Sends what the agent says to where its session is listened to. Enqueuing neither waits nor throws; every adapter has a
 * queue and a loop of its own, so that one that is slow, broken or full is alone with it.
 */
export class EgressHub {
  readonly #ports: EgressHubPorts;
  readonly #queues = new Map<string, EgressQueue>();
  readonly #bound = new Map<string, Set<string>>();
  #sorted: Doors | undefined;
  #closed = false;

  constructor(ports: EgressHubPorts) {
    this.#ports = ports;
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

  /** Of every way out that is there or was used. */
  status(): readonly EgressStatus[] {
    const { adapters, channels } = this.#ports;
    const names = new Set([...adapters().map(({ key }) => key), ...channels(), ...this.#queues.keys()]);
    return [...names].map((name) => (this.#queues.get(name) ?? new EgressQueue(name, this.#ports)).status());
  }

  /** Sends what waits for at most `ms`; what is left then is told to the owner. */
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
      if (unsent.waiting.length > 0 || unsent.handedOver) this.#ports.undelivered(queue.adapter, unsent);
    }
  }

  #queue(adapter: string): EgressQueue {
    const known = this.#queues.get(adapter);
    if (known) return known;
    const made = new EgressQueue(adapter, this.#ports);
    this.#queues.set(adapter, made);
    return made;
  }

  #route(observation: Observation): Iterable<string> {
    const { obs_type: type, session_key: key = '', metadata } = observation;
    if (type === 'alert') return this.#doors().alerts;
    if (type !== 'message') return none;
    if (metadata.direction !== 'outbound' && !isAgentGenerated(observation)) return none;
    const listeners = this.#listeners(key, metadata.answered_by);
    const { everywhere } = this.#doors();
    return everywhere.length === 0 ? listeners : new Set([...listeners, ...everywhere]);
  }

  /** Who listens to a session, or stands in for those who would. */
  #listeners(key: string, answeredBy: unknown): Iterable<string> {
    const bound = this.#bound.get(key);
    if (typeof answeredBy === 'string') {
      // Whoever waited has it already; only others that listen to this session get it as well.
      if (!bound) return none;
      for (const adapter of bound) if (isFace(adapter, answeredBy)) return withoutFace(bound, answeredBy);
      return bound;
    }
    if (bound) return bound;
    const channel = this.#ports.channelOf(key);
    return channel === undefined ? this.#doors().usual : [channel];
  }

  /** What the adapters that are there now take, sorted out once for each set of them. */
  #doors(): Doors {
    const adapters = this.#ports.adapters();
    if (this.#sorted?.adapters === adapters) return this.#sorted;
    const keys = (takes: (adapter: EgressAdapter) => boolean | undefined) =>
      adapters.filter(takes).map(({ key }) => key);
    this.#sorted = {
      adapters,
      // Beside the messages, which are what a way out is for.
      alerts: keys(({ accepts }) => accepts?.includes('alert')),
      everywhere: keys(({ everywhere }) => everywhere),
      usual: keys((adapter) => adapter.default),
    };
    return this.#sorted;
  }
}

const none: readonly string[] = Object.freeze([]);

const channelPrefix = 'channel:';

/** Whether an adapter is the way out of a face: of that name, or its channel. */
function isFace(adapter: string, face: string): boolean {
  if (adapter.length === face.length) return adapter === face;
  const channel = adapter.length === face.length + channelPrefix.length && adapter.startsWith(channelPrefix);
  return channel && adapter.endsWith(face);
}

function withoutFace(bound: ReadonlySet<string>, face: string): readonly string[] {
  return [...bound].filter((adapter) => !isFace(adapter, face));
}
