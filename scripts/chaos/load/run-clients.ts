import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Door, planRequests } from '../plan/requests.js';
import type { Wish } from '../plan/wish.js';
import type { Acknowledgement } from './acknowledgement.js';
import { askToStore } from './ask-to-store.js';

/** A server that can be asked. */
export interface OpenDoor {
  readonly origin: string;
  /** It gave an answer. */
  answered(): void;
}

export interface OpenDoors {
  /** One of them, as soon as there is one; undefined once nobody will serve any more. */
  any(client: number): Promise<OpenDoor | undefined>;
}

export interface ClientOptions {
  readonly seed: number;
  readonly clients: number;
  readonly doors: OpenDoors;
  /** No further request is begun. */
  readonly signal: AbortSignal;
  /** Told of each answer, and of each that never came. */
  note(acknowledgement: Acknowledgement): void;
}

async function runClient(client: number, { seed, doors, signal, note }: ClientOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const ask = async (server: OpenDoor, door: Door, wish: Wish): Promise<void> => {
    const acknowledgement = await askToStore(server.origin, door, wish, agent);
    note(acknowledgement);
    if (acknowledgement.promised.kind !== 'unanswered') server.answered();
  };
  for (const { wish, door, isDoubled, pauseMs } of planRequests(seed, client)) {
    await delay(pauseMs);
    const [server, other] = [await doors.any(client), await doors.any(client + 1)];
    if (signal.aborted || server === undefined) break;
    await Promise.all([ask(server, door, wish), ...(isDoubled ? [ask(other ?? server, 'rest', wish)] : [])]);
  }
  agent.destroy();
}

/** Stores memories as fast as its clients are planned to, until it is told to stop. */
export async function runClients(options: ClientOptions): Promise<void> {
  await Promise.all(Array.from({ length: options.clients }, (_, client) => runClient(client, options)));
}
