import type { Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import { errorKind } from './error-kind.js';
import { databaseError } from './errors.js';

/**
 * Turns what the pool throws when it has no connection to give into one coded error. Its sentence reaches clients, whom
 * the address of the database does not concern: that is in the cause, and in the log.
 */
export function connectionError(error: unknown): MortiseError {
  if (error instanceof MortiseError) return error;
  if (error instanceof Error && error.message === 'aborted') return databaseError('database_closed', {}, error);
  return databaseError('database_unavailable', {}, error);
}

/** A statement whose connection is gone fails as one that got none: its caller can do no more than try again. */
export function statementError(error: unknown): unknown {
  return errorKind(error) === 'unavailable' ? connectionError(error) : error;
}

/** One line without SQL: the code of the driver, and its words where they carry no data. */
export function shortReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown cause';
  if (error instanceof MortiseError && error.cause instanceof Error) return shortReason(error.cause);
  const code = (error as { readonly code?: unknown }).code;
  const words = error.message.includes(' - ')
    ? error.message.slice(error.message.lastIndexOf(' - ') + 3)
    : error.message;
  const line = words.split('\n', 1)[0]?.slice(0, 200) ?? '';
  if (typeof code !== 'string' || line.includes(code)) return line === '' ? 'unknown cause' : line;
  return line === '' ? code : `${code}, ${line}`;
}

/** knex prints warnings on the console; every one of them also reaches the caller as an error, so they go to debug. */
export function knexLog(log: Logger): Knex.Logger {
  const debug = (message: unknown): void =>
    log.debug({ detail: shortReason(new Error(String(message))) }, 'Query builder');
  return { debug, warn: debug, error: debug, deprecate: debug };
}
