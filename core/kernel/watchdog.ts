import { Worker } from 'node:worker_threads';
import type { Disposable } from '../sdk/context.js';

export interface WatchdogOptions {
  /** How long the event loop may stand still. */
  readonly seconds: number;
  readonly journalFile: string;
  /** Code folders of the plugins: how the thread knows whose loop it is. */
  folders(): ReadonlyMap<string, string>;
}

/**
 * A thread that notices when the event loop stands still, finds out whose code runs, notes that plugin in the boot
 * journal and ends the process, so that its supervisor starts it again without the plugin.
 */
export function startWatchdog(options: WatchdogOptions): Disposable & { refresh(): void } {
  const beat = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
    workerData: { beat, limitMs: options.seconds * 1_000, journalFile: options.journalFile, pid: process.pid },
    stdout: false,
    stderr: false,
  });
  worker.unref();
  // Without the thread the platform still works: it then has nobody to end an endless loop.
  worker.on('error', () => undefined);
  const timer = setInterval(() => Atomics.add(beat, 0, 1), Math.min(250, options.seconds * 250));
  timer.unref();
  const refresh = (): void => worker.postMessage([...options.folders()]);
  refresh();
  return {
    refresh,
    dispose: async () => {
      clearInterval(timer);
      await worker.terminate();
    },
  };
}
