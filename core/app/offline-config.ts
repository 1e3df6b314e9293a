import { MortiseError } from '../sdk/errors.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { openSettings } from '../settings/index.js';
import { openOffline } from './offline-control.js';

/** Every effective value with its source, from the files and the environment. @throws MortiseError */
export async function readConfig(projectDir: string, owner: string | undefined): Promise<readonly EffectiveValue[]> {
  // The host's own settings are asked for most when the rest does not work.
  if (owner === 'host') {
    const opened = await openSettings({ projectDir });
    if (!opened.ok) throw opened.errors[0] ?? new MortiseError('invalid_settings', 'The settings cannot be read.');
    try {
      return opened.settings.effective(owner);
    } finally {
      await opened.settings.dispose();
    }
  }
  const offline = await openOffline(projectDir);
  try {
    return offline.effective(owner);
  } finally {
    await offline.dispose();
  }
}
