import { join } from 'node:path';
import type { Kernel } from '../kernel/kernel.js';
import { startWatchdog } from '../process/watchdog.js';
import type { Disposable } from '../sdk/context.js';
import type { Settings } from '../settings/types.js';
import { numberOf } from './number-of.js';

/** Ends an endless loop in a plugin, and names who fills the heap; 0 seconds turns both off. */
export function watchProcess(settings: Settings, kernel: Kernel): Disposable {
  const seconds = numberOf(settings.variable('MORTISE_WATCHDOG_SECONDS'), 10);
  if (seconds <= 0) return { dispose: () => undefined };
  const watchdog = startWatchdog({
    seconds,
    journalFile: join(settings.host.dataDir, 'boot.json'),
    folders: () => kernel.folders(),
  });
  kernel.events.on('plugin-state', ({ to }) => {
    if (to === 'checking') watchdog.refresh();
  });
  return watchdog;
}
