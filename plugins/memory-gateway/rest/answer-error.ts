import { MortiseError, type RouteResponse } from 'mortise/sdk';
import { PrincipalRefused } from '../principal-refused.js';

interface Issue {
  readonly path: string;
  readonly reason: string;
  readonly message: string;
}

const detailTypes: Readonly<Record<string, string>> = {
  MISSING_REQUIRED_PARAM: 'missing',
  INVALID_PARAM_TYPE: 'type_error',
  INVALID_PARAM_VALUE: 'value_error',
};

/** `/filters/kind` → `["body", "filters", "kind"]`, numbers as numbers. */
function locationOf(path: string): (string | number)[] {
  const parts = path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return ['body', ...parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part))];
}

function isIssues(value: unknown): value is readonly Issue[] {
  return Array.isArray(value);
}

/** What an endpoint adds to its error answers: the members of its own shape. */
export interface ErrorShape {
  readonly invalid?: object;
  /** The shape of an answer that could not be made, e.g. because the database is down. */
  unavailable(error: MortiseError): object;
}

function invalid(error: MortiseError, correlationId: string, shape: ErrorShape): RouteResponse {
  const issues = isIssues(error.details?.errors) ? error.details.errors : [];
  const detail = issues.map(({ path, reason, message }) => ({
    type: detailTypes[reason] ?? 'value_error',
    loc: locationOf(path),
    msg: message,
  }));
  const body = {
    ok: false,
    ...shape.invalid,
    reason: error.code,
    message: error.message,
    detail,
    correlation_id: correlationId,
  };
  return { status: 422, body };
}

/**
 * Answers an error in the shape of the endpoint. What it does not know is thrown on, for the host to answer.
 */
export function answerError(error: unknown, correlationId: string, shape: ErrorShape): RouteResponse {
  if (error instanceof PrincipalRefused) return { status: 200, body: error.result };
  if (!(error instanceof MortiseError)) throw error;
  if (error.status === 422) return invalid(error, correlationId, shape);
  if (error.status !== 503) throw error;
  return {
    status: 503,
    headers: { 'retry-after': String(error.retryAfterSeconds ?? 2) },
    body: shape.unavailable(error),
  };
}
