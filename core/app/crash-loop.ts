import type { Desired } from '../kernel/deps.js';
import type { Finding } from '../sdk/host/plugin-control.js';

/** Said while the crashes of the last starts keep the plugins out. */
export const crashLoopFinding: Finding = {
  severity: 'error',
  code: 'safe_mode',
  message: 'The server crashed twice in a row soon after its start, so only required plugins are started.',
  fix: 'Disable the plugin that you suspect (mortise plugin disable <key>), or mend it and say so (mortise plugin release <key>); then start again. After 60 s without a crash the next start is a full one again, too.',
};

/** Which plugins should run, as one text: equal when nothing was changed. */
export function wantedPlugins({ plugins }: Desired): string {
  return Object.keys(plugins)
    .filter((key) => plugins[key]?.enabled)
    .sort()
    .join(' ');
}
