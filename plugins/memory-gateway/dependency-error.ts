import { type Database, isCodedError, MortiseError } from 'mortise/sdk';
import { isCircuitOpen } from './backend/read-failure.js';

/** The database cannot be reached; nothing was sent to the memory backend. */
export function databaseUnavailable(cause?: unknown): MortiseError {
  return new MortiseError('LOGBOOK_DB_UNAVAILABLE', 'The database cannot be reached.', {
    status: 503,
    retryable: true,
    retryAfterSeconds: 2,
    details: { category: 'dependency', service: 'database' },
    cause,
  });
}

/** The database answers, but not as it should. */
export function databaseCheckFailed(cause?: unknown): MortiseError {
  return new MortiseError('LOGBOOK_DB_CHECK_FAILED', 'The database does not hold what the memory gateway needs.', {
    status: 503,
    details: { category: 'dependency', service: 'database' },
    cause,
  });
}

/** The database takes no writes: nothing was changed, and the same call may succeed once there is space. */
export function databaseFull(cause?: unknown): MortiseError {
  return new MortiseError('LOGBOOK_DB_UNAVAILABLE', 'The database has no space left to write.', {
    status: 503,
    retryable: true,
    retryAfterSeconds: 30,
    details: { category: 'dependency', service: 'database', cause: 'database_full' },
    cause,
  });
}

/** What keeps the database from its work, where nothing can be audited any more. */
export function databaseFailure(database: Database, error: unknown): MortiseError {
  if (isDatabaseDown(database, error)) return databaseUnavailable(error);
  return database.codec.errorKind(error) === 'full' ? databaseFull(error) : databaseCheckFailed(error);
}

/** Statuses of a backend after which the same call may succeed. */
function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** The memory backend cannot answer, and nothing else could. */
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
      retryable: isPassing(status),
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

/** Whether an error means that the database cannot be reached at the moment. */
export function isDatabaseDown(database: Database, error: unknown): boolean {
  if (error instanceof MortiseError)
    return error.code === 'LOGBOOK_DB_UNAVAILABLE' || error.code === 'database_unavailable';
  return database.codec.errorKind(error) === 'unavailable';
}
