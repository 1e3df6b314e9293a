import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { Suspect } from '../kernel/deps.js';
import { markSuspect } from './boot-journal.js';
import { HeapWatch } from './heap-watch.js';
import { type CodeFolders, type Frames, MainThreadView } from './main-thread-view.js';
import { stoodStill, waitClock } from './processor-time.js';

export interface WatchdogData {
  readonly beat: Int32Array;
  readonly limitMs: number;
  /** Bytes that the heap of the main thread may hold. */
  readonly heapLimit: number;
  readonly journalFile: string;
  readonly pid: number;
}

const { beat, limitMs, heapLimit, journalFile, pid } = workerData as WatchdogData;

let folders: CodeFolders = [];
const readWait = waitClock(pid);
const lookEveryMs = Math.max(20, limitMs / 10);
let lastBeat = -1;
let lastLook = readWait();
/** Milliseconds. */
let still = 0;
let ending = false;

parentPort?.on('message', (next: CodeFolders) => {
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
  if (still > limitMs && !ending) {
    ending = true;
    void endIfStill().finally(() => {
      ending = false;
    });
  }
}, lookEveryMs);

const heap = new HeapWatch(heapLimit, (view, frames) => void endForHeap(view, frames));

/** Finds out whose code runs on the main thread, and ends the process if its loop still stands still after that. */
async function endIfStill(): Promise<void> {
  const stoodAt = lastBeat;
  const view = heap.view ?? new MainThreadView();
  const plugin = await view.whoRuns(folders);
  if (view !== heap.view) view.close();
  await new Promise((resolve) => setTimeout(resolve, Math.min(250, limitMs / 4)));
  // That it had no processor is told when it gets one, and by now it may have had.
  if (Atomics.load(beat, 0) !== stoodAt || still <= limitMs) return;
  end(plugin, { code: 'blocked_event_loop', detail: String(limitMs / 1_000), sure: true });
}

/** Finds out whose code fills the heap, as long as the debugger lets it grow, and ends the process. */
async function endForHeap(view: MainThreadView, frames: Frames): Promise<void> {
  const plugin = await view.whoRuns(folders, frames);
  const mebibytes = String(Math.round(heapLimit / 1_048_576));
  // The engine would have said so, and the main thread cannot any more.
  const whose = plugin === undefined ? 'it is not known whose code filled it' : `the plugin ${plugin} filled it`;
  try {
    writeSync(2, `mortise: the heap is full (${mebibytes} MiB): ${whose}\n`);
  } catch {
    // A log that cannot be written must not keep it from ending the process.
  }
  end(plugin, { code: 'heap_exhausted', detail: mebibytes, sure: true });
}

function end(plugin: string | undefined, suspect: Suspect): void {
  if (plugin !== undefined) markSuspect(journalFile, plugin, suspect);
  process.kill(pid, 'SIGABRT');
}
