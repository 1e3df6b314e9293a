import { argumentError, type Database, isCodedError, lostNumber, MortiseError } from 'mortise/sdk';
import { isCircuitOpen } from './backend/read-failure.js';

/**
 * Refuses numbers that JSON cannot represent, because they would be stored with a different value.
 * @throws MortiseError `INVALID_PARAM_VALUE` (422).
 */
export function refuseLostNumbers(tool: string, name: string, value: unknown): void {
  const path = lostNumber(value, `/${name}`);
  if (path !== undefined) throw argumentError(tool, path, 'must be a number that JSON can represent');
}

/** The database cannot be reached. Nothing was sent to the memory backend. */
export function databaseUnavailable(cause?: unknown): MortiseError {
  return new MortiseError('LOGBOOK_DB_UNAVAILABLE', 'The database cannot be reached.', {
    status: 503,
    retryable: true,
    retryAfterSeconds: 2,
    details: { category: 'dependency', service: 'database' },
    cause,
  });
}

/** The database answers with an error, such as a missing table. */
export function databaseCheckFailed(cause?: unknown): MortiseError {
  return new MortiseError('LOGBOOK_DB_CHECK_FAILED', 'The database failed with an unexpected error.', {
    status: 503,
    details: { category: 'dependency', service: 'database' },
    cause,
  });
}

/** The database accepts no writes. Nothing was changed; the same call may succeed once there is space. */
function databaseFull(cause?: unknown): MortiseError {
  return new MortiseError('LOGBOOK_DB_UNAVAILABLE', 'The database has no space left to write.', {
    status: 503,
    retryable: true,
    retryAfterSeconds: 30,
    details: { category: 'dependency', service: 'database', cause: 'database_full' },
    cause,
  });
}

/** Whether an error means that the database cannot be reached at the moment. */
export function isDatabaseDown(database: Database, error: unknown): boolean {
  if (error instanceof MortiseError)
    return error.code === 'LOGBOOK_DB_UNAVAILABLE' || error.code === 'database_unavailable';
  return database.codec.errorKind(error) === 'unavailable';
}

/** The error of a failed database operation that cannot be audited either. */
export function databaseFailure(database: Database, error: unknown): MortiseError {
  if (isDatabaseDown(database, error)) return databaseUnavailable(error);
  return database.codec.errorKind(error) === 'full' ? databaseFull(error) : databaseCheckFailed(error);
}

/** Both the memory backend and the fallback failed. */
export function backendUnavailable(service: string, cause: unknown): MortiseError {
  if (isCircuitOpen(cause)) {
    return new MortiseError('OPENMEMORY_UNAVAILABLE', 'The memory backend is not called at the moment.', {
      status: 503,
      retryable: true,
      details: { category: 'dependency', service },
      cause,
    });
  }
  const status = isCodedError(cause) && typeof cause.details?.status === 'number' ? cause.details.status : undefined;
  if (status !== undefined) {
    return new MortiseError('OPENMEMORY_API_ERROR', `The memory backend answered with status ${status}.`, {
      status: 503,
      retryable: status === 408 || status === 425 || status === 429 || status >= 500,
      details: { category: 'dependency', service, status },
      cause,
    });
  }
  return new MortiseError('OPENMEMORY_CONNECTION_FAILED', 'The memory backend cannot be reached.', {
    status: 503,
    retryable: true,
    details: { category: 'dependency', service },
    cause,
  });
}
