import type { CommandFacts, CommandInput, OptionValue } from '../sdk/points/command.js';
import { readTime } from '../sdk/text.js';
import { CommandError } from './output.js';
import { translated } from './translated.js';

/** An option of a contributed command, and its name in the input. */
export interface NamedOption {
  readonly name: string;
  /** `--limit` */
  readonly long: string;
  readonly value?: OptionValue | undefined;
}

/**
 * Validates the arguments against the command's declaration before a request is sent, so that wrong usage is reported
 * without a server and before missing rights.
 *
 * @throws CommandError
 */
export function checkInput(
  { usage }: Pick<CommandFacts, 'usage'>,
  { args, options }: Pick<CommandInput, 'args' | 'options'>,
  known: readonly NamedOption[],
): void {
  const hint = translated('Usage: mortise {usage}', { usage });
  for (const { name, long, value } of known) {
    const given = options[name];
    if (value === undefined || typeof given !== 'string' || isAllowed(value, given)) continue;
    throw new CommandError(`${long} cannot be "${shown(given)}"; expected ${described(value)}.`, hint);
  }
  const words = firstWords(usage);
  const [word] = args;
  if (words !== undefined && (word === undefined || !words.includes(word))) {
    const what = word === undefined ? 'A subcommand is missing' : `"${shown(word)}" is not a subcommand`;
    throw new CommandError(`${what}; expected ${listed(words)}.`, hint);
  }
  const missing = requiredArguments(usage)[args.length];
  if (missing !== undefined) throw new CommandError(`${missing} is missing.`, hint);
  const needed = exclusiveOptions(usage);
  if (needed === undefined) return;
  const given = needed.filter((long) => options[nameOf(long, known)] === true);
  if (given.length !== 1) {
    const what = given.length === 0 ? 'An option is missing' : `${given.join(' and ')} exclude each other`;
    throw new CommandError(`${what}; expected ${listed(needed)}.`, hint);
  }
}

function isAllowed(value: OptionValue, given: string): boolean {
  if ('oneOf' in value) return value.oneOf.includes(given);
  if ('time' in value) return readTime(given) !== undefined;
  const pattern = value.number === 'whole' ? /^\d+$/ : /^\d+(\.\d+)?$/;
  const number = pattern.test(given) ? Number(given) : Number.NaN;
  const isLarge = value.above === undefined ? number >= (value.from ?? 0) : number > value.above;
  return isLarge && number <= (value.to ?? Number.MAX_SAFE_INTEGER);
}

function described(value: OptionValue): string {
  if ('oneOf' in value) return listed(value.oneOf);
  if ('time' in value) return 'a time in ISO 8601, such as 2026-01-31 or 2026-01-31T08:30:00Z';
  const kind = value.number === 'whole' ? 'a whole number' : 'a number';
  const least = value.above === undefined ? `from ${value.from ?? 0}` : `above ${value.above}`;
  if (value.to === undefined)
    return value.above === undefined ? `${kind} of at least ${value.from ?? 0}` : `${kind} ${least}`;
  return value.above === undefined ? `${kind} ${least} to ${value.to}` : `${kind} ${least}, at most ${value.to}`;
}

/** `memory outbox <list|show|retry> [id]`: one of these words must come first. */
function firstWords(usage: string): readonly string[] | undefined {
  return /^[\w\- ]*<([\w-]+(?:\|[\w-]+)+)>/.exec(usage)?.[1]?.split('|');
}

/** `<pool> <obs_id>` of a usage; the word after an option is its value. */
function requiredArguments(usage: string): readonly string[] {
  return [...usage.matchAll(/(--[\w-]+ )?(<[^>]+>)/g)].flatMap(([, option, name = '']) => (option ? [] : [name]));
}

/** `(--once | --report)`: exactly one of these is needed. */
function exclusiveOptions(usage: string): readonly string[] | undefined {
  return /\((--[\w-]+(?: \| --[\w-]+)+)\)/.exec(usage)?.[1]?.split(' | ');
}

function nameOf(long: string, known: readonly NamedOption[]): string {
  return known.find((option) => option.long === long)?.name ?? long;
}

function listed(words: readonly string[]): string {
  return words.length === 1 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** Shortened to fit a line. */
function shown(text: string): string {
  const line = text.replaceAll(/\p{Cc}/gu, ' ');
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}
