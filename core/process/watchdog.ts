import { Worker } from 'node:worker_threads';
import { showRunningPlugin } from '../kernel/attribution.js';
import type { Disposable } from '../sdk/context.js';
import type { WatchdogData } from './watchdog-thread.js';

interface WatchdogOptions {
  /** How long the event loop may be blocked, without the time in which it waits for a processor. */
  readonly seconds: number;
  readonly journalFile: string;
  /** Code folders of the plugins, by which the thread knows whose loop it is. */
  folders(): ReadonlyMap<string, string>;
}

/**
 * Starts a thread that notices a blocked event loop, records the plugin whose code runs in the boot
 * journal and ends the process, so that its supervisor starts it again without the plugin.
 */
export function startWatchdog(options: WatchdogOptions): Disposable & { refresh(): void } {
  const tick = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./watchdog-thread.js', import.meta.url), {
    workerData: {
      tick,
      limitMs: options.seconds * 1_000,
      journalFile: options.journalFile,
      pid: process.pid,
    } satisfies WatchdogData,
    stdout: false,
    stderr: false,
  });
  const alive = (): void => void Atomics.add(tick, 0, 1);
  // Many ready sockets can delay timers for long; a message of the thread is handled among them.
  worker.on('message', alive);
  // Without the thread the platform works, but an endless loop is not ended.
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
