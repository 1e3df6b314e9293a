import { watch } from 'node:fs';
import type { Disposable } from '../sdk/context.js';

/** Calls `run` once things in a folder have come or gone and half a second was quiet. */
export function watchFolder(folder: string, run: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  try {
    const watcher = watch(folder, { persistent: false }, () => {
      clearTimeout(timer);
      timer = setTimeout(run, 500);
      timer.unref();
    });
    // A folder that cannot be watched is read again whenever a plugin is enabled.
    watcher.on('error', () => watcher.close());
    return {
      dispose: () => {
        clearTimeout(timer);
        watcher.close();
      },
    };
  } catch {
    return { dispose: () => undefined };
  }
}
