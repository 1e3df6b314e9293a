import { CommanderError } from 'commander';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import { oneLine, printableJson } from '../sdk/text.js';
import { hintByStatus } from './client.js';
import { CommandError, LocalError, UnfinishedRun } from './output.js';
import { translated } from './translated.js';

/** Exit codes. */
export const exitCodes = { done: 0, refused: 1, wrongUsage: 2, noServer: 3, interrupted: 130 } as const;

/**
 * Prints an error: its message, hint and details, or with `--json` one object; never a stack. Refusals have the code of
 * the API, also without a server; errors of the command line have `cli_error`, with status 0 and their kind in
 * `details.reason`.
 *
 * @returns the exit code
 */
export function reportError(error: unknown, json: boolean, write: (text: string) => void): number {
  if (error instanceof UnfinishedRun) {
    const code = reportError(error.cause, json, write);
    return code === exitCodes.refused ? error.exitCode : code;
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.done;
    // Without --json the help is already printed.
    if (error.code === 'commander.help' && !json) return exitCodes.wrongUsage;
    return reportError(misused(error), json, write);
  }
  const coded = isCodedError(error) ? error : unexpected(error);
  const isLocal = coded instanceof LocalError;
  const { code, message, details = {} } = coded;
  const status = isLocal ? 0 : (coded.status ?? 500);
  const hint = (coded instanceof MortiseError ? coded.hint : undefined) ?? hintByStatus(isLocal ? 400 : status);
  if (json) write(`${printableJson({ error: { code, message, details, hint }, status })}\n`);
  else {
    const lines = [`[${oneLine(code)}] ${oneLine(message)}`, `  ${oneLine(hint)}`, ...detailLines(details, message)];
    write(lines.map((line) => `${line}\n`).join(''));
  }
  if (!isLocal) return exitCodes.refused;
  if (coded instanceof CommandError) return exitCodes.wrongUsage;
  return coded.reason === 'no_server' ? exitCodes.noServer : exitCodes.refused;
}

/** Longer details are printed only with `--json`. */
const maxDetailLength = 400;

/** One line per detail that the message does not contain. */
function detailLines(details: Readonly<Record<string, unknown>>, message: string): readonly string[] {
  return Object.entries(details).flatMap(([name, value]) => {
    const text = oneLine(typeof value === 'string' ? value : printableJson(value ?? null));
    const isShown = name !== 'reason' && text.length <= maxDetailLength && !message.includes(text);
    return isShown ? [`  ${oneLine(name)}: ${text}`] : [];
  });
}

function misused({ code, message }: CommanderError): CommandError {
  const hint = translated('mortise --help shows the commands; with a command it shows its options.');
  if (code === 'commander.help') return new CommandError(translated('A command is missing.'), hint);
  if (message.includes("unknown option '--body'")) {
    return new CommandError(
      translated('This command does not accept a JSON document: --json before one is short for --body.'),
      hint,
    );
  }
  const [sentence = message, similar] = message.replace(/^error: /, '').split('\n');
  const shown = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}${/[.)]$/.test(sentence) ? '' : '.'}`;
  return new CommandError(shown, similar ? `${similar.replace(/^\(|\)$/g, '')} ${hint}` : hint);
}

function unexpected(error: unknown): MortiseError {
  if (error instanceof AggregateError)
    return error.errors.find((one) => one instanceof MortiseError) ?? unexpected(error.errors[0]);
  const message = error instanceof Error ? error.message : String(error);
  return new LocalError('unexpected', message, {
    hint: translated('mortise plugin doctor looks for problems.'),
  });
}
