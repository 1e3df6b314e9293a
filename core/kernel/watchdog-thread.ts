import type { Debugger } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { accuse } from './boot-journal.js';
import { stoodStill, waitClock } from './processor-time.js';
import { runningPluginExpression } from './running-plugin.js';

interface WatchdogData {
  readonly beat: Int32Array;
  readonly limitMs: number;
  readonly journalFile: string;
  readonly pid: number;
}

const { beat, limitMs, journalFile, pid } = workerData as WatchdogData;
/** How often the stack is looked at. */
const samples = 25;

/** Written as in a stack, with the slash after them. */
let folders: readonly (readonly [folder: string, key: string])[] = [];
/** Its code runs on behalf of whoever brought the schema, whichever plugin asked for the check. */
const validatorFolder = new URL('../schema/', import.meta.url).href;
const readWait = waitClock(pid);
const lookEveryMs = Math.max(20, limitMs / 10);
let lastBeat = -1;
let lastLook = readWait();
/** Milliseconds. */
let still = 0;

parentPort?.on('message', (next: typeof folders) => {
  folders = next;
});

setInterval(() => {
  const look = readWait();
  const current = Atomics.load(beat, 0);
  if (current !== lastBeat) {
    lastBeat = current;
    still = 0;
    parentPort?.postMessage('alive?');
  } else still = Math.max(0, still + stoodStill(lastLook, look, 2 * lookEveryMs));
  lastLook = look;
  if (still > limitMs) {
    still = 0;
    void endProcess();
  }
}, lookEveryMs);

/** Finds out whose code runs on the main thread, and ends the process if its loop still stands still after that. */
async function endProcess(): Promise<void> {
  const found: string[] = [];
  await within(2_000, sampleMainThread(found)).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, Math.min(250, limitMs / 4)));
  if (Atomics.load(beat, 0) !== lastBeat) return;
  const plugin = mostFrequent(found);
  if (plugin !== undefined) accuse(journalFile, plugin, limitMs / 1_000);
  process.kill(pid, 'SIGABRT');
}

/**
 * Pauses the main thread several times and adds to `found` whose code each pause met: a loop that awaits in between is
 * as often in the platform's own code as in the plugin's. Native code cannot be paused: then this never ends.
 */
async function sampleMainThread(found: string[]): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  try {
    const urls = new Map<string, string>();
    let onPaused: (frames: readonly Debugger.CallFrame[]) => void = () => undefined;
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    session.on('Debugger.paused', ({ params }) => onPaused(params.callFrames));
    await session.post('Debugger.enable');
    for (let sample = 0; sample < samples; sample += 1) {
      const paused = new Promise<readonly Debugger.CallFrame[]>((resolve) => {
        onPaused = resolve;
      });
      await session.post('Debugger.pause');
      const frames = await paused;
      const addresses = frames.map((frame) => frame.url || urls.get(frame.location.scriptId) || '');
      const owner = ownerOf(addresses, await accountOf(session, frames[0]?.callFrameId));
      await session.post('Debugger.resume');
      if (owner !== undefined) found.push(owner);
      // The next pause must not meet the very same place, and by chance not the same phase of the loop.
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 9));
    }
  } finally {
    session.disconnect();
  }
}

/** The plugin on whose account a paused thread runs: that of the call, wherever its code lies. */
async function accountOf(session: Session, callFrameId: string | undefined): Promise<string | undefined> {
  if (callFrameId === undefined) return undefined;
  const expression = runningPluginExpression;
  const { result } = await session.post('Debugger.evaluateOnCallFrame', { callFrameId, expression, silent: true });
  return typeof result.value === 'string' ? result.value : undefined;
}

/**
 * Whose code it is: that of the innermost plugin on the stack, for others' calls may be on top of a loop. A check against
 * a schema, and a stack without any plugin, are on the account of the call.
 *
 * @param addresses of the code on the stack, innermost first
 */
function ownerOf(addresses: readonly string[], account: string | undefined): string | undefined {
  for (const url of addresses) {
    const owner = folders.find(([folder]) => url.includes(folder));
    if (owner) return owner[1];
    if (account !== undefined && url.startsWith(validatorFolder)) return account;
  }
  return account;
}

function mostFrequent(found: readonly string[]): string | undefined {
  const counted = [...Map.groupBy(found, (owner) => owner)].sort(([, a], [, b]) => b.length - a.length);
  return counted[0]?.[0];
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`nothing within ${ms} ms`)), ms)),
  ]);
}
