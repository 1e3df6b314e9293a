import type { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServerProcess, type ServerProcessOptions, startServer } from 'mortise/sdk/testing';
import type { Kill } from '../plan/kills.js';
import type { ServerPool } from './server-pool.js';

/** One process of the product, which is restarted after each kill. */
export interface Slot {
  readonly number: number;
  /** Folder of its data directory and log, kept across restarts. */
  readonly folder: string;
  readonly settings: ServerProcessOptions;
  readonly pool: ServerPool;
  readonly children: Children;
  /** Called after each kill. */
  died(kill: Kill): void;
}

/** Time limit of a start in milliseconds. */
export const STARTING_MS = 60_000;
/** Limit of a life in milliseconds, because without backend responses a process might never be killed. */
const MAX_LIFE_MS = 6_000;

function start({ settings, folder, children }: Slot, onSpawn: (child: ChildProcess) => void = () => {}) {
  return startServer({
    ...settings,
    folder,
    limitMs: STARTING_MS,
    onSpawn(child) {
      children.add(child);
      onSpawn(child);
    },
  });
}

async function serve(slot: Slot): Promise<ServerProcess> {
  const server = await start(slot);
  slot.pool.open(slot.number, server.origin);
  return server;
}

async function killServer(slot: Slot, server: ServerProcess): Promise<void> {
  const how = await server.end('SIGKILL');
  appendFileSync(join(slot.folder, 'product.log'), server.output());
  if (how !== 'SIGKILL') throw new Error(`The product ended by itself (${how}):\n${server.output()}`);
}

/** Kills the process a given time after its spawn, at any point of its start. */
async function killDuringStart(slot: Slot, afterMs: number): Promise<void> {
  let isKilled = false;
  const starting = start(slot, (child) => {
    setTimeout(() => {
      isKilled = true;
      child.kill('SIGKILL');
    }, afterMs);
  });
  try {
    await killServer(slot, await starting);
  } catch (error) {
    if (!isKilled) throw error;
  }
}

/** @throws Error when the product exited before the kill */
async function killWhileServing(slot: Slot, answers: number, afterMs: number): Promise<void> {
  const server = await serve(slot);
  await slot.pool.answered(slot.number, answers, MAX_LIFE_MS);
  await delay(afterMs);
  const killed = killServer(slot, server);
  slot.pool.close(slot.number);
  await killed;
}

/** Starts and kills a process as planned. @returns its last, running server */
export async function runLives(slot: Slot, kills: readonly Kill[]): Promise<ServerProcess> {
  for (const kill of kills) {
    if (kill.phase === 'boot') await killDuringStart(slot, kill.afterMs);
    else await killWhileServing(slot, kill.answers, kill.afterMs);
    slot.died(kill);
  }
  return serve(slot);
}

/** Child processes that must not outlive the run. */
export interface Children {
  add(child: ChildProcess): void;
  /** Kills the remaining ones. */
  end(): void;
}

export function createChildren(): Children {
  const living = new Set<ChildProcess>();
  const end = (): void => {
    for (const child of living) child.kill('SIGKILL');
  };
  process.once('exit', end);
  return {
    add(child) {
      living.add(child);
      child.once('exit', () => living.delete(child));
    },
    end() {
      process.off('exit', end);
      end();
    },
  };
}
