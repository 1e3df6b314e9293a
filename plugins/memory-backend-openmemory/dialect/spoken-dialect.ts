import type { OpenMemoryConfig } from '../config.js';
import { isNoRoute, timedOut } from '../failure.js';
import { withinBudget } from '../http/budget.js';
import type { Client } from '../http/create-client.js';
import type { Dialect } from './dialect.js';
import { findDialect } from './find-dialect.js';
import { queryDialect } from './query-dialect.js';
import { searchDialect } from './search-dialect.js';

/** What the server speaks, as far as is known. */
export interface SpokenDialect {
  /** Runs in the server's dialect. Where that proves wrong, once more in the right one. */
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
  configured: OpenMemoryConfig['dialect'],
  client: Client,
  headers: Readonly<Record<string, string>>,
): SpokenDialect {
  if (configured !== 'auto') {
    const dialect = configured === 'search' ? searchDialect : queryDialect;
    return { speak: (_signal, run) => run(dialect) };
  }

  let known: Dialect | undefined;
  let finding: Promise<Dialect> | undefined;
  const neverAborted = new AbortController().signal;

  /** One look at a time, however many calls wait for it. */
  const find = (): Promise<Dialect> => {
    finding ??= withinBudget({ signal: neverAborted, timeoutMs: FINDING_MS }, (signal) =>
      findDialect(client, headers, signal),
    )
      .then((dialect) => {
        known = dialect;
        return dialect;
      })
      .finally(() => {
        finding = undefined;
      });
    return finding;
  };
  const current = async (signal: AbortSignal): Promise<Dialect> => known ?? waitWithin(find(), signal);

  return {
    async speak(signal, run) {
      const dialect = await current(signal);
      try {
        return await run(dialect);
      } catch (error) {
        if (!isNoRoute(error)) throw error;
        if (known === dialect) known = undefined;
        const other = await current(signal);
        if (other === dialect) throw error;
        return run(other);
      }
    },
  };
}
