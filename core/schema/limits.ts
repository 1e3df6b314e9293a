import { createContext, Script } from 'node:vm';

const quote = 0x22;
const backslash = 0x5c;

/** String bytes scanned one by one before the native search is used: short keys are faster this way. */
const shortString = 24;

/** Nesting limit of configuration files; deeper files would overflow the stack of recursive readers. */
export const maxFileDepth = 100;

/** Whether a file's JSON nests deeper than {@link maxFileDepth}. */
export function isTooDeep(text: string): boolean {
  return exceedsDepth(Buffer.from(text), maxFileDepth);
}

/**
 * Whether JSON text nests deeper than `limit`, found by counting brackets outside strings: one pass, no recursion, no
 * allocation, so that a hostile document is refused before it is parsed. The result for invalid JSON is unspecified.
 */
export function exceedsDepth(bytes: Buffer, limit: number): boolean {
  const length = bytes.length;
  // Valid JSON needs a closing bracket for each opening one.
  if (length < 2 * (limit + 1)) return false;
  let depth = 0;
  let position = 0;
  while (position < length) {
    const byte = bytes[position];
    if (byte === quote) {
      position = afterString(bytes, position + 1);
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
    position += 1;
  }
  return false;
}

/** Position after the closing quote of the string whose content begins at `start`. */
function afterString(bytes: Buffer, start: number): number {
  const length = bytes.length;
  const nearEnd = Math.min(length, start + shortString);
  let position = start;
  while (position < nearEnd) {
    const byte = bytes[position];
    if (byte === quote) return position + 1;
    position += byte === backslash ? 2 : 1;
  }
  while (position < length) {
    const found = bytes.indexOf(quote, position);
    if (found < 0) return length;
    let slashes = 0;
    while (found - slashes > position && bytes[found - slashes - 1] === backslash) slashes += 1;
    if (slashes % 2 === 0) return found + 1;
    position = found + 1;
  }
  return length;
}

const script = new Script('run()');
let place: { run?: () => unknown } | undefined;

/**
 * Runs synchronous code and stops it when it takes too long. Catastrophic backtracking of a regular expression cannot be
 * interrupted by JavaScript; V8's own time limit ends it. It costs half a millisecond, too much for every request.
 *
 * @returns what `run` returns; undefined when it was stopped after `ms` milliseconds
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

/** The error is created in the other context, where `Error` is another class. */
function isTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
