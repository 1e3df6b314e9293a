import { MortiseError, type RouteResponse } from 'mortise/sdk';
import { PrincipalRefused } from '../policy/principal-access.js';

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
  const segments = path
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  return ['body', ...segments.map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment))];
}

function isIssues(value: unknown): value is readonly Issue[] {
  return Array.isArray(value);
}

/** The members that the error bodies of an endpoint share with its successful ones. */
export interface ErrorShape {
  /** Additional members of a 422 body. */
  readonly invalid?: object;
  /** The body of a 503, such as when the database is down. */
  unavailable(error: MortiseError, correlationId: string): object;
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

/** The response for an error, in the shape of the endpoint. Errors of other kinds are rethrown for the host. */
export function answerError(error: unknown, correlationId: string, shape: ErrorShape): RouteResponse {
  if (error instanceof PrincipalRefused) return { status: 200, body: error.result };
  if (!(error instanceof MortiseError)) throw error;
  if (error.status === 422) return invalid(error, correlationId, shape);
  if (error.status !== 503) throw error;
  return {
    status: 503,
    headers: { 'retry-after': String(error.retryAfterSeconds ?? 2) },
    body: shape.unavailable(error, correlationId),
  };
}
