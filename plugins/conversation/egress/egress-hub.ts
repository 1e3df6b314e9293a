import type { EgressFacts, EgressStatus, Observation } from 'mortise/sdk';
import { isAgentGenerated } from '../loop-guard.js';
import { EgressQueue, type EgressQueuePorts } from './egress-queue.js';

export interface EgressAdapter extends EgressFacts {
  readonly key: string;
}

export interface EgressHubPorts extends EgressQueuePorts {
  /** Adapters that are there now. */
  readonly adapters: () => readonly EgressAdapter[];
  /** The adapter that reaches the people of a session through its own channel; undefined when there is none. */
  readonly channelOf: (sessionKey: string) => string | undefined;
  readonly undelivered: (adapter: string, observations: readonly Observation[]) => void;
}

/**
 * Sends what the agent says to where its session is listened to. Enqueuing neither waits nor throws; every adapter has a
 * queue and a loop of its own, so that one that is slow, broken or full is alone with it.
 */
export class EgressHub {
  readonly #ports: EgressHubPorts;
  readonly #queues = new Map<string, EgressQueue>();
  readonly #bound = new Map<string, Set<string>>();
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

  status(): readonly EgressStatus[] {
    return [...this.#queues.values()].map((queue) => queue.status());
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
      const left = queue.close();
      if (left.length > 0) this.#ports.undelivered(queue.adapter, left);
    }
  }

  #queue(adapter: string): EgressQueue {
    const known = this.#queues.get(adapter) ?? new EgressQueue(adapter, this.#ports);
    this.#queues.set(adapter, known);
    return known;
  }

  #route(observation: Observation): Iterable<string> {
    const { obs_type: type, session_key: key = '', metadata } = observation;
    if (type === 'alert') return this.#adapters('alert').map((adapter) => adapter.key);
    if (type !== 'message') return [];
    if (metadata.direction !== 'outbound' && !isAgentGenerated(observation)) return [];
    const bound = this.#bound.get(key);
    const answeredBy = metadata.answered_by;
    if (typeof answeredBy === 'string') {
      // Whoever waited has it already; only others that listen to this session get it as well.
      return [...(bound ?? [])].filter((adapter) => adapter !== answeredBy && adapter !== `channel:${answeredBy}`);
    }
    if (bound) return bound;
    const channel = this.#ports.channelOf(key);
    if (channel !== undefined) return [channel];
    return this.#adapters('message').flatMap((adapter) => (adapter.default ? [adapter.key] : []));
  }

  #adapters(kind: 'message' | 'alert'): readonly EgressAdapter[] {
    return this.#ports.adapters().filter(({ accepts = ['message'] }) => accepts.includes(kind));
  }
}
