import { pathToFileURL } from 'node:url';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import { redactSecrets } from '../sdk/mask.js';
import { type Problem, problem } from './plugin-problems.js';

/** Ends a step of a plugin's life with a row of the problem table. */
export class PluginProblem extends MortiseError {
  readonly problem: Problem;

  constructor(shown: Problem, cause?: unknown) {
    super(shown.code, shown.message, { status: 422, hint: shown.hint, cause });
    this.name = 'PluginProblem';
    this.problem = shown;
  }
}

/** A coded error keeps its code, which distinguishes an unreachable database from a mistake in the plugin. */
export function startProblem(error: unknown, codeFolder: string | undefined): Problem {
  if (!isCodedError(error)) return problem('start_failed', explainError(error, codeFolder));
  const shown = problem('start_failed', explainError(error.message, codeFolder));
  const hint = error instanceof MortiseError ? error.hint : undefined;
  return { code: error.code, message: shown.message, hint: hint ?? shown.hint };
}

/** One line about an error for people: its message, at most 300 characters, without stack and what looks like a secret. */
export function describeError(error: unknown): string {
  const line = redactSecrets(messageOf(error)).replace(/\s+/g, ' ').trim() || 'an error without a message';
  return line.length > 300 ? `${line.slice(0, 299)}…` : line.replace(/\.$/, '');
}

export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : 'unexpected_error';
}

export function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

/** How a folder is written in stacks, with the slash after it: as a path, and as a URL where that escapes characters. */
export function writtenInStacks(folder: string): readonly string[] {
  const address = pathToFileURL(folder).pathname;
  return address === folder ? [`${folder}/`] : [`${folder}/`, `${address}/`];
}

/** Where in a plugin's own code an error was made: `index.js:12`, or undefined. */
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

/** As {@link describeError}, with the place in the plugin's own code and without the path of its folder. */
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

function messageOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  if (typeof error === 'string') return error;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    // A circular object, or a bigint.
    return String(error);
  }
}
