import { parentPort, workerData } from 'node:worker_threads';
import { markSuspect } from './boot-journal.js';
import { blockedFor, waitClock } from './processor-time.js';
import { type CodeFolders, whoRuns } from './who-runs.js';

export interface WatchdogData {
  readonly tick: Int32Array;
  readonly limitMs: number;
  readonly journalFile: string;
  readonly pid: number;
}

const { tick, limitMs, journalFile, pid } = workerData as WatchdogData;

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

/** Finds out which plugin's code runs on the main thread, and ends the process if its loop is still blocked after that. */
async function endIfBlocked(): Promise<void> {
  const blockedAt = lastTick;
  const plugin = await whoRuns(folders);
  await new Promise((resolve) => setTimeout(resolve, Math.min(250, limitMs / 4)));
  // The time without a processor is known only once the thread gets one, which may have happened by now.
  if (Atomics.load(tick, 0) !== blockedAt || blocked <= limitMs) return;
  if (plugin !== undefined)
    markSuspect(journalFile, plugin, { code: 'blocked_event_loop', detail: String(limitMs / 1_000), sure: true });
  process.kill(pid, 'SIGABRT');
}
