import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { showRunningPlugin } from '../kernel/attribution.js';
import type { Disposable } from '../sdk/context.js';
import type { WatchdogData } from './watchdog-thread.js';

export interface WatchdogOptions {
  /** How long the event loop may stand still, not counting the time in which it waits for a processor. */
  readonly seconds: number;
  readonly journalFile: string;
  /** Code folders of the plugins: how the thread knows whose loop it is. */
  folders(): ReadonlyMap<string, string>;
}

/**
 * A thread that notices when the event loop stands still, or the heap fills, finds out whose code runs, notes that plugin in the boot
 * journal and ends the process, so that its supervisor starts it again without the plugin.
 */
export function startWatchdog(options: WatchdogOptions): Disposable & { refresh(): void } {
  const beat = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
    workerData: {
      beat,
      limitMs: options.seconds * 1_000,
      heapLimit: getHeapStatistics().heap_size_limit,
      journalFile: options.journalFile,
      pid: process.pid,
    } satisfies WatchdogData,
    stdout: false,
    stderr: false,
  });
  const alive = (): void => void Atomics.add(beat, 0, 1);
  // A crowd of ready sockets can keep the timers waiting for long: among them the thread's question has its turn.
  worker.on('message', alive);
  // Without the thread the platform still works: it then has nobody to end an endless loop.
  worker.on('error', () => undefined);
  worker.unref();
  const timer = setInterval(alive, Math.min(250, options.seconds * 250));
  timer.unref();
  const hide = showRunningPlugin();
  const refresh = (): void => worker.postMessage([...options.folders()]);
  refresh();
  return {
    refresh,
    dispose: async () => {
      clearInterval(timer);
      hide();
      await worker.terminate();
    },
  };
}
