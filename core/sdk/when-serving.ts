import type { HttpService } from './host/http.js';
import type { StartHost } from './plugin.js';

const LOOK_EVERY_MS = 50;

/**
 * Runs once this process serves requests: never in one that was started for a single command, which must do what it was
 * asked and nothing beside.
 */
export function whenServing(host: Pick<StartHost, 'every' | 'log'>, http: HttpService, run: () => unknown): void {
  const looking = host.every(LOOK_EVERY_MS, async () => {
    if (http.origin === undefined) return;
    looking.dispose();
    await run();
  });
}
