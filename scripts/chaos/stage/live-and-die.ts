import type { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServerProcess, type ServerProcessOptions, startServer } from 'mortise/sdk/testing';
import type { Kill } from '../plan/kills.js';
import type { Children } from './children.js';
import type { Doors } from './doors.js';

/** One process of the product, which is started again whenever it was killed. */
export interface Slot {
  readonly number: number;
  /** What its data directory and its log lie in; kept between its lives. */
  readonly folder: string;
  readonly settings: ServerProcessOptions;
  readonly doors: Doors;
  readonly children: Children;
  /** Told after each death. */
  died(kill: Kill): void;
}

/** How long a start may take. */
export const STARTING_MS = 60_000;
/** A backend that answers nobody must not keep a process alive for ever. */
const LONGEST_LIFE_MS = 6_000;

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
  slot.doors.open(slot.number, server.origin);
  return server;
}

async function bury(slot: Slot, server: ServerProcess): Promise<void> {
  const how = await server.end('SIGKILL');
  appendFileSync(join(slot.folder, 'product.log'), server.output());
  if (how !== 'SIGKILL') throw new Error(`The product ended by itself (${how}):\n${server.output()}`);
}

/** Kills it so long after its process came to be, wherever its start is then. */
async function dieStarting(slot: Slot, afterMs: number): Promise<void> {
  let isKilled = false;
  const starting = start(slot, (child) => {
    setTimeout(() => {
      isKilled = true;
      child.kill('SIGKILL');
    }, afterMs);
  });
  try {
    await bury(slot, await starting);
  } catch (error) {
    if (!isKilled) throw error;
  }
}

/** @throws Error when it was dead before it was killed: the product ended by itself. */
async function dieServing(slot: Slot, answers: number, afterMs: number): Promise<void> {
  const server = await serve(slot);
  await slot.doors.answered(slot.number, answers, LONGEST_LIFE_MS);
  await delay(afterMs);
  const buried = bury(slot, server);
  slot.doors.close(slot.number);
  await buried;
}

/** Lives and dies as planned. @returns its last life, which serves. */
export async function liveAndDie(slot: Slot, kills: readonly Kill[]): Promise<ServerProcess> {
  for (const kill of kills) {
    if (kill.phase === 'boot') await dieStarting(slot, kill.afterMs);
    else await dieServing(slot, kill.answers, kill.afterMs);
    slot.died(kill);
  }
  return serve(slot);
}
