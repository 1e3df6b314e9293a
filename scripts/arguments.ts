import { parseArgs } from 'node:util';

/** One option of a script. */
interface Option<T> {
  readonly about: string;
  /** The option's value, as the help names it; undefined for a flag. */
  readonly takes: string | undefined;
  readonly fallback: T;
  /** @returns undefined for an invalid text */
  read(text: string): T | undefined;
}

/** A whole number of at most nine digits. */
export function count(about: string, fallback: number): Option<number>;
export function count(about: string): Option<number | undefined>;
export function count(about: string, fallback?: number): Option<number | undefined> {
  return { about, takes: 'N', fallback, read: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined) };
}

/** One of the names; undefined when absent. */
export function oneOf<Name extends string>(about: string, names: readonly Name[]): Option<Name | undefined> {
  const read = (text: string): Name | undefined => names.find((name) => name === text);
  return { about, takes: names.join('|'), fallback: undefined, read };
}

/** Comma-separated names; all when absent. */
export function someOf<Name extends string>(about: string, names: readonly Name[]): Option<readonly Name[]> {
  return {
    about: `${about}: ${names.join(',')}`,
    takes: 'NAMES',
    fallback: names,
    read(text) {
      const wanted = text.split(',');
      return wanted.every((name) => names.some((one) => one === name)) ? (wanted as Name[]) : undefined;
    },
  };
}

export function folder(about: string): Option<string | undefined> {
  return { about, takes: 'FOLDER', fallback: undefined, read: (text) => (text === '' ? undefined : text) };
}

function flag(about: string): Option<boolean> {
  return { about, takes: undefined, fallback: false, read: () => true };
}

export const json = flag('print one JSON document');
export const databases = ['sqlite', 'postgres'] as const;
export const database = oneOf('only on this database', databases);

type Values<Options> = { readonly [Name in keyof Options]: Options[Name] extends Option<infer T> ? T : never };

/**
 * Reads the options of a script. `--help` prints them and ends the process; an unknown or invalid option
 * ends it with exit code 2.
 *
 * @param command how the script is called
 * @param about one sentence
 */
export function readArguments<const Options extends Readonly<Record<string, Option<unknown>>>>(
  command: string,
  about: string,
  options: Options,
  args: readonly string[] = process.argv.slice(2),
): Values<Options> {
  const refuse = (reason: string): never => {
    process.stderr.write(`${reason} ("${command} --help" lists the options.)\n`);
    process.exit(2);
  };
  const given = ((): Readonly<Record<string, string | boolean | undefined>> => {
    const types = Object.entries(options).map(
      ([name, { takes }]) => [name, { type: takes === undefined ? 'boolean' : 'string' }] as const,
    );
    try {
      return parseArgs({ args: [...args], options: { ...Object.fromEntries(types), help: { type: 'boolean' } } })
        .values;
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error));
    }
  })();
  if (given.help === true) {
    process.stdout.write(helpText(command, about, options));
    process.exit(0);
  }
  const values = Object.entries(options).map(([name, option]) => {
    const text = given[name];
    if (text === undefined) return [name, option.fallback];
    const value = option.read(String(text));
    return [name, value ?? refuse(`--${name} takes ${option.takes} (${option.about}), not "${text}".`)];
  });
  return Object.fromEntries(values) as Values<Options>;
}

function helpText(command: string, about: string, options: Readonly<Record<string, Option<unknown>>>): string {
  const rows = Object.entries(options).map(([name, { takes = '', fallback, about: what }]) => {
    const shownDefault = typeof fallback === 'number' ? ` (${fallback})` : '';
    return [`  --${name} ${takes}`, `${what}${shownDefault}`] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  const lines = rows.map(([left, right]) => `${left.padEnd(width)}${right}`);
  return `${about}\n\n  ${command} [options]\n\n${lines.join('\n')}\n`;
}
