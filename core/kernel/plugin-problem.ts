import { pathToFileURL } from 'node:url';
import { type Problem, problem } from '../messages/plugin-problems.js';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import { redactSecrets } from '../sdk/mask.js';

/** Ends a step of a plugin's life with a row of the problem table. */
export class PluginProblem extends MortiseError {
  readonly problem: Problem;

  constructor(shown: Problem, cause?: unknown) {
    super(shown.code, shown.message, { status: 422, hint: shown.hint, cause });
    this.name = 'PluginProblem';
    this.problem = shown;
  }
}

/** A coded error keeps its code, so that others can tell a dead database from a mistake in the plugin. */
export function startProblem(error: unknown, codeFolder: string | undefined): Problem {
  if (!isCodedError(error)) return problem('start_failed', explainError(error, codeFolder));
  const shown = problem('start_failed', explainError(error.message, codeFolder));
  const hint = error instanceof MortiseError ? error.hint : undefined;
  return { code: error.code, message: shown.message, hint: hint ?? shown.hint };
}

/**
 * One line about an error for a person: its message without stack and without what looks like a secret, at most 300
 * characters. Whatever was thrown: an error
 * may have members that throw in their turn.
 */
export function describeError(error: unknown): string {
  const line = redactSecrets(messageOf(error)).replace(/\s+/g, ' ').trim() || 'an error without a message';
  return line.length > 300 ? `${line.slice(0, 299)}…` : line.replace(/\.$/, '');
}

export function errorCode(error: unknown): string {
  const code = safely(() => (error as { code?: unknown } | null)?.code);
  return typeof code === 'string' ? code : 'unexpected_error';
}

/** The stack of an error, where it has one. */
export function stackOf(error: unknown): string | undefined {
  const stack = safely(() => (error instanceof Error ? error.stack : undefined));
  return typeof stack === 'string' ? stack : undefined;
}

/**
 * How a folder is written in the lines of a stack, with the slash after it: as a path, and as an address where that
 * escapes some of its letters.
 */
export function writtenInStacks(folder: string): readonly string[] {
  const address = pathToFileURL(folder).pathname;
  return address === folder ? [`${folder}/`] : [`${folder}/`, `${address}/`];
}

/** Where in a plugin's own code an error was made: `index.js:12`, or nothing. */
export function placeOf(error: unknown, codeFolder: string | undefined): string | undefined {
  const stack = codeFolder && stackOf(error);
  if (!stack) return undefined;
  for (const folder of writtenInStacks(codeFolder)) {
    const at = stack.indexOf(folder);
    const place = at < 0 ? null : /^([^\s?:()]+)(?:\?[^\s:()]*)?:(\d+)/.exec(stack.slice(at + folder.length));
    if (place) return `${place[1]}:${place[2]}`;
  }
  return undefined;
}

/**
 * As {@link describeError}, with the place in the plugin's own code where it was made, and without the path of that code:
 * it says nothing to the reader and is nobody's business.
 */
export function explainError(
  error: unknown,
  codeFolder: string | undefined,
  place = placeOf(error, codeFolder),
): string {
  let text = describeError(error);
  for (const folder of codeFolder ? writtenInStacks(codeFolder) : [])
    text = text.replaceAll(`file://${folder}`, '').replaceAll(folder, '');
  return place ? `${text} (${place})` : text;
}

/** The error itself, or a plain one in place of one that throws when it is looked at. */
export function harmless(error: unknown): unknown {
  try {
    if (error instanceof Error) String(`${error.stack}${error.message}${error.cause}`);
    else JSON.stringify(error);
    return error;
  } catch {
    return new Error('an error that cannot be shown');
  }
}

function messageOf(error: unknown): string {
  const text = safely(() => {
    if (error instanceof Error) return error.message;
    return typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error));
  });
  return typeof text === 'string' ? text : 'an error that cannot be shown';
}

function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
