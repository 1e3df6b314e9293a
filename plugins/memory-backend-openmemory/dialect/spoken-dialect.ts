import type { Config } from '../config.generated.js';
import { isNoRoute, timedOut } from '../failure.js';
import { withinBudget } from '../http/budget.js';
import type { Client } from '../http/create-client.js';
import type { Dialect } from './dialect.js';
import { checkDialect, findDialect } from './find-dialect.js';
import { queryDialect } from './query-dialect.js';
import { searchDialect } from './search-dialect.js';

/** What the server speaks, as far as is known. */
export interface SpokenDialect {
  /** Runs in the server's dialect. Where it has come to speak the other one, once more in that. */
  speak<R>(signal: AbortSignal, run: (dialect: Dialect) => Promise<R>): Promise<R>;
}

const FINDING_MS = 5_000;

/** Waits for what others wait for too, but not longer than this caller can. */
async function waitWithin<R>(pending: Promise<R>, signal: AbortSignal): Promise<R> {
  let leave = (): void => {};
  const gone = new Promise<never>((_, reject) => {
    leave = () => reject(timedOut('reads'));
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([pending, gone]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

/** A dialect that is configured is spoken whatever the server says to it. */
export function createSpokenDialect(
  configured: Config['dialect'],
  client: Client,
  headers: Readonly<Record<string, string>>,
): SpokenDialect {
  if (configured !== 'auto') {
    const dialect = configured === 'search' ? searchDialect : queryDialect;
    return { speak: (_signal, run) => run(dialect) };
  }

  let known: Dialect | undefined;
  let looking: Promise<Dialect> | undefined;
  const neverAborted = new AbortController().signal;

  /** One look at a time, however many calls wait for it. */
  const look = (how: (signal: AbortSignal) => Promise<Dialect>, caller: AbortSignal): Promise<Dialect> => {
    looking ??= withinBudget({ signal: neverAborted, timeoutMs: FINDING_MS }, how)
      .then((dialect) => {
        known = dialect;
        return dialect;
      })
      .finally(() => {
        looking = undefined;
      });
    return waitWithin(looking, caller);
  };

  return {
    async speak(signal, run) {
      const dialect = known ?? (await look((own) => findDialect(client, headers, own), signal));
      try {
        return await run(dialect);
      } catch (error) {
        if (!isNoRoute(error)) throw error;
        // Another call may have found out meanwhile.
        const check = () => look((own) => checkDialect(dialect, client, headers, own), signal);
        const spoken = known === dialect ? await check().catch(() => dialect) : (known ?? dialect);
        if (spoken === dialect) throw error;
        return run(spoken);
      }
    },
  };
}
