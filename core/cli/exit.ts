import { CommanderError } from 'commander';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import { oneLine, printableJson } from '../sdk/text.js';
import { CommandError, UnfinishedRun } from './output.js';

/** What a command ends with. */
export const exitCodes = { done: 0, refused: 1, wrongUsage: 2, noServer: 3, interrupted: 130 } as const;

/** Prints an error: two lines for people, or one object for scripts; never a stack. @returns the exit code */
export function reportError(error: unknown, json: boolean, write: (text: string) => void): number {
  if (error instanceof UnfinishedRun) {
    const code = reportError(error.cause, json, write);
    return code === exitCodes.refused ? error.exitCode : code;
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.done;
    // Commander has printed it for people already.
    return json ? reportError(misused(error), json, write) : exitCodes.wrongUsage;
  }
  const coded = isCodedError(error) ? error : unexpected(error);
  const hint = coded instanceof MortiseError ? coded.hint : undefined;
  const { code, message, details, status } = coded;
  if (json) write(`${printableJson({ error: { code, message, details, hint }, status })}\n`);
  else write(`[${oneLine(code)}] ${oneLine(message)}\n${hint ? `  ${oneLine(hint)}\n` : ''}`);
  if (error instanceof CommandError) return exitCodes.wrongUsage;
  return code === 'no_server' ? exitCodes.noServer : exitCodes.refused;
}

function misused({ code, message }: CommanderError): CommandError {
  const sentence = code === 'commander.help' ? 'A command is missing.' : message.replace(/^error: /, '').split('\n')[0];
  return new CommandError(
    sentence ?? message,
    'mortise --help shows the commands; with a command it shows its options.',
  );
}

function unexpected(error: unknown): MortiseError {
  if (error instanceof AggregateError)
    return error.errors.find((one) => one instanceof MortiseError) ?? unexpected(error.errors[0]);
  const message = error instanceof Error ? error.message : String(error);
  return new MortiseError('cli_error', message, { hint: 'mortise plugin doctor looks for what may be wrong.' });
}
