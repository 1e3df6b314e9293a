import { Session } from 'node:inspector/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { accuse } from './boot-journal.js';

interface WatchdogData {
  readonly beat: Int32Array;
  readonly limitMs: number;
  readonly journalFile: string;
  readonly pid: number;
}

const { beat, limitMs, journalFile, pid } = workerData as WatchdogData;
/** Written as in a stack, with the slash after them. */
let folders: readonly (readonly [folder: string, key: string])[] = [];
let lastBeat = -1;
let since = performance.now();

parentPort?.on('message', (next: typeof folders) => {
  folders = next;
});

setInterval(
  () => {
    const now = performance.now();
    const current = Atomics.load(beat, 0);
    if (current !== lastBeat) {
      lastBeat = current;
      since = now;
    } else if (now - since > limitMs) {
      since = now;
      void endProcess();
    }
  },
  Math.max(20, limitMs / 10),
);

/** Finds out whose code runs on the main thread, and ends the process if its loop still stands still after that. */
async function endProcess(): Promise<void> {
  const frames = await within(2_000, framesOfMainThread()).catch(() => []);
  await new Promise((resolve) => setTimeout(resolve, Math.min(250, limitMs / 4)));
  if (Atomics.load(beat, 0) !== lastBeat) return;
  const plugin = ownerOf(frames);
  if (plugin !== undefined) accuse(journalFile, plugin, limitMs / 1_000);
  process.kill(pid, 'SIGABRT');
}

/** Addresses of the code on the stack, innermost first. Native code cannot be paused: then this never ends. */
async function framesOfMainThread(): Promise<readonly string[]> {
  const session = new Session();
  session.connectToMainThread();
  try {
    const urls = new Map<string, string>();
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    const paused = new Promise<readonly string[]>((resolve) => {
      session.on('Debugger.paused', ({ params }) =>
        resolve(params.callFrames.map((frame) => frame.url || urls.get(frame.location.scriptId) || '')),
      );
    });
    await session.post('Debugger.enable');
    await session.post('Debugger.pause');
    const frames = await paused;
    await session.post('Debugger.resume');
    return frames;
  } finally {
    session.disconnect();
  }
}

function ownerOf(frames: readonly string[]): string | undefined {
  for (const url of frames) {
    const owner = folders.find(([folder]) => url.includes(folder));
    if (owner) return owner[1];
  }
  return undefined;
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`nothing within ${ms} ms`)), ms)),
  ]);
}
