import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { MemoryInput } from '../plan/memory-input.js';
import { type Endpoint, planRequests } from '../plan/requests.js';
import type { Acknowledgement } from './acknowledgement.js';
import { askToStore } from './ask-to-store.js';

/** A running server. */
export interface ActiveServer {
  readonly origin: string;
  /** Records that it responded. */
  answered(): void;
}

export interface ServerSource {
  /** A server, as soon as one is running; undefined after the shutdown. */
  any(client: number): Promise<ActiveServer | undefined>;
}

interface ClientOptions {
  readonly seed: number;
  readonly clients: number;
  readonly pool: ServerSource;
  /** Stops further requests. */
  readonly signal: AbortSignal;
  /** Called with each response, and each missing one. */
  note(acknowledgement: Acknowledgement): void;
}

async function runClient(client: number, { seed, pool, signal, note }: ClientOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const ask = async (server: ActiveServer, endpoint: Endpoint, memory: MemoryInput): Promise<void> => {
    const acknowledgement = await askToStore(server.origin, endpoint, memory, agent);
    note(acknowledgement);
    if (acknowledgement.promised.kind !== 'unanswered') server.answered();
  };
  for (const { memory, endpoint, isDuplicated, pauseMs } of planRequests(seed, client)) {
    await delay(pauseMs);
    const [server, other] = [await pool.any(client), await pool.any(client + 1)];
    if (signal.aborted || server === undefined) break;
    await Promise.all([ask(server, endpoint, memory), ...(isDuplicated ? [ask(other ?? server, 'rest', memory)] : [])]);
  }
  agent.destroy();
}

/** Stores memories at the planned rate of its clients until it is stopped. */
export async function runClients(options: ClientOptions): Promise<void> {
  await Promise.all(Array.from({ length: options.clients }, (_, client) => runClient(client, options)));
}
