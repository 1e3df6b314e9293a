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

/** Looks at the main thread's stack and ends the process if the loop is still standing still. */
async function endProcess(): Promise<void> {
  const plugin = await guiltyPlugin();
  if (Atomics.load(beat, 0) !== lastBeat) return;
  if (plugin !== undefined)
    accuse(journalFile, plugin, { code: 'blocked_event_loop', detail: String(limitMs / 1_000) });
  process.kill(pid, 'SIGABRT');
}

async function guiltyPlugin(): Promise<string | undefined> {
  const session = new Session();
  try {
    session.connectToMainThread();
    const paused = new Promise<readonly { readonly url: string; readonly location: { readonly scriptId: string } }[]>(
      (resolve) => {
        session.on('Debugger.paused', ({ params }) => resolve(params.callFrames));
      },
    );
    const urls = new Map<string, string>();
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    await session.post('Debugger.enable');
    await session.post('Debugger.pause');
    const frames = await Promise.race([
      paused,
      new Promise<never>((_, reject) => setTimeout(() => reject(new Error('no stack')), 2_000)),
    ]);
    for (const frame of frames) {
      const url = frame.url || urls.get(frame.location.scriptId) || '';
      const owner = folders.find(([folder]) => decodeURIComponent(url).includes(`${folder}/`));
      if (owner) return owner[1];
    }
  } catch {
    // Native code cannot be paused; the process is ended all the same.
  }
  return undefined;
}
