import { createContext, Script } from 'node:vm';

const script = new Script('run()');
let place: { run?: () => unknown } | undefined;

/**
 * Runs synchronous code and breaks it off when it takes too long. A regular expression that tries for ever cannot be
 * ended from within; the engine's own clock ends it. Costs half a millisecond: not for what every request does.
 *
 * @returns what `run` returns; undefined when it was broken off after `ms` milliseconds
 */
export function withinTime<T>(run: () => T, ms: number): { readonly value: T } | undefined {
  place ??= createContext({});
  let done: { readonly value: T } | undefined;
  place.run = () => {
    done = { value: run() };
  };
  try {
    script.runInContext(place, { timeout: ms });
  } catch (error) {
    if (!isTimeout(error)) throw error;
  } finally {
    delete place.run;
  }
  return done;
}

/** The error is made in the other context, where `Error` is another class. */
function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
