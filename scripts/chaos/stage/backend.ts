import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FakeDialect } from 'mortise/contracts/memory-backend-openmemory/testing';
import type { Spell } from '../plan/spells.js';
import type { BackendSaid, BackendWish } from './backend-process.js';

type Wished = BackendWish extends infer Wish ? (Wish extends BackendWish ? Omit<Wish, 'number'> : never) : never;

/** The memory backend: a process of its own, whose mood can be changed. */
export interface Backend {
  readonly origin: string;
  /** From now on every request meets what the spell says. */
  turn(spell: Pick<Spell, 'call' | 'fault'>): Promise<void>;
  stop(): Promise<void>;
}

function said(child: ChildProcess, isIt: (message: BackendSaid) => boolean): Promise<BackendSaid> {
  return new Promise((resolve, reject) => {
    const left = () => reject(new Error('The memory backend ended.'));
    const listen = (message: BackendSaid) => {
      if (!isIt(message)) return;
      child.off('message', listen).off('exit', left);
      resolve(message);
    };
    child.on('message', listen).once('exit', left);
  });
}

export async function startBackend(dialect: FakeDialect, journalFile: string): Promise<Backend> {
  const file = fileURLToPath(new URL('./backend-process.js', import.meta.url));
  const child = fork(file, ['--dialect', dialect, '--journal', journalFile]);
  const first = await said(child, (message) => 'origin' in message);
  let asked = 0;
  let isListening = true;

  const ask = async (wish: Wished): Promise<void> => {
    asked += 1;
    const number = asked;
    const done = said(child, (message) => 'done' in message && message.done === number);
    child.send({ ...wish, number });
    await done;
  };

  return {
    origin: 'origin' in first ? first.origin : '',
    async turn({ call, fault }) {
      await ask({ wish: 'be-well' });
      if (isListening !== (fault !== 'down')) await ask({ wish: isListening ? 'refuse-connections' : 'listen' });
      isListening = fault !== 'down';
      if (fault !== null && fault !== 'down') await ask({ wish: 'fail', call, fault });
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
