import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FakeDialect } from 'mortise/contracts/memory-backend-openmemory/testing';
import type { FaultPeriod } from '../plan/faults.js';
import type { BackendCommand, BackendReply } from './backend-process.js';

type CommandBody = BackendCommand extends infer C ? (C extends BackendCommand ? Omit<C, 'number'> : never) : never;

/** The memory backend in a separate process, with configurable faults. */
export interface Backend {
  readonly origin: string;
  /** Replaces the current fault. */
  setFault(period: Pick<FaultPeriod, 'call' | 'fault'>): Promise<void>;
  stop(): Promise<void>;
}

function replyOf(child: ChildProcess, matches: (message: BackendReply) => boolean): Promise<BackendReply> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('The memory backend ended.'));
    const listen = (message: BackendReply) => {
      if (!matches(message)) return;
      child.off('message', listen).off('exit', onExit);
      resolve(message);
    };
    child.on('message', listen).once('exit', onExit);
  });
}

export async function startBackend(dialect: FakeDialect, journalFile: string): Promise<Backend> {
  const file = fileURLToPath(new URL('./backend-process.js', import.meta.url));
  const child = fork(file, ['--dialect', dialect, '--journal', journalFile]);
  const first = await replyOf(child, (message) => 'origin' in message);
  let sent = 0;
  let isListening = true;

  const ask = async (command: CommandBody): Promise<void> => {
    sent += 1;
    const number = sent;
    const done = replyOf(child, (message) => 'done' in message && message.done === number);
    child.send({ ...command, number });
    await done;
  };

  return {
    origin: 'origin' in first ? first.origin : '',
    async setFault({ call, fault }) {
      await ask({ command: 'clear-faults' });
      if (isListening !== (fault !== 'down')) await ask({ command: isListening ? 'refuse-connections' : 'listen' });
      isListening = fault !== 'down';
      if (fault !== null && fault !== 'down') await ask({ command: 'fail', call, fault });
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Applies the planned faults until the signal is aborted. @returns the number of periods of each fault */
export async function applyFaults(
  faults: Iterable<FaultPeriod>,
  backend: Backend,
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  const applied: Record<string, number> = {};
  for (const period of faults) {
    if (signal.aborted) break;
    await backend.setFault(period);
    applied[period.name] = (applied[period.name] ?? 0) + 1;
    await delay(period.ms, undefined, { signal }).catch(() => undefined);
  }
  await backend.setFault({ call: 'any', fault: null });
  return applied;
}
