import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { Suspect } from '../kernel/deps.js';
import { markSuspect } from './boot-journal.js';
import { HeapWatch } from './heap-watch.js';
import { type CodeFolders, type Frames, MainThreadView } from './main-thread-view.js';
import { blockedFor, waitClock } from './processor-time.js';

export interface WatchdogData {
  readonly tick: Int32Array;
  readonly limitMs: number;
  /** Bytes that the heap of the main thread may hold. */
  readonly heapLimit: number;
  readonly journalFile: string;
  readonly pid: number;
}

const { tick, limitMs, heapLimit, journalFile, pid } = workerData as WatchdogData;

let folders: CodeFolders = [];
const readWait = waitClock(pid);
const checkEveryMs = Math.max(20, limitMs / 10);
let lastTick = -1;
let lastReading = readWait();
/** Milliseconds. */
let blocked = 0;
let ending = false;

parentPort?.on('message', (next: CodeFolders) => {
  folders = next;
});

setInterval(() => {
  const reading = readWait();
  const current = Atomics.load(tick, 0);
  if (current !== lastTick) {
    lastTick = current;
    blocked = 0;
    parentPort?.postMessage('alive?');
  } else blocked = Math.max(0, blocked + blockedFor(lastReading, reading, 2 * checkEveryMs));
  lastReading = reading;
  if (blocked > limitMs && !ending) {
    ending = true;
    void endIfBlocked().finally(() => {
      ending = false;
    });
  }
}, checkEveryMs);

const heap = new HeapWatch(heapLimit, (view, frames) => void endForHeap(view, frames));

/** Finds out which plugin's code runs on the main thread, and ends the process if its loop is still blocked after that. */
async function endIfBlocked(): Promise<void> {
  const blockedAt = lastTick;
  const view = heap.view ?? new MainThreadView();
  const plugin = await view.whoRuns(folders);
  if (view !== heap.view) view.close();
  await new Promise((resolve) => setTimeout(resolve, Math.min(250, limitMs / 4)));
  // The time without a processor is known only once the thread gets one, which may have happened by now.
  if (Atomics.load(tick, 0) !== blockedAt || blocked <= limitMs) return;
  end(plugin, { code: 'blocked_event_loop', detail: String(limitMs / 1_000), sure: true });
}

/** Finds out which plugin fills the heap, while the debugger lets it grow, and ends the process. */
async function endForHeap(view: MainThreadView, frames: Frames): Promise<void> {
  const plugin = await view.whoRuns(folders, frames);
  const mebibytes = String(Math.round(heapLimit / 1_048_576));
  // The main thread cannot report it any more.
  const whose = plugin === undefined ? 'it is not known which plugin filled it' : `the plugin ${plugin} filled it`;
  try {
    writeSync(2, `mortise: the heap is full (${mebibytes} MiB): ${whose}\n`);
  } catch {
    // A log that cannot be written must not keep the process from ending.
  }
  end(plugin, { code: 'heap_exhausted', detail: mebibytes, sure: true });
}

function end(plugin: string | undefined, suspect: Suspect): void {
  if (plugin !== undefined) markSuspect(journalFile, plugin, suspect);
  process.kill(pid, 'SIGABRT');
}
