import { isCodedError, MortiseError } from 'mortise/sdk';
import { type ProviderFailureDetails, providerError } from '../errors.js';

/** A request that failed before anything of its answer came. */
export interface Failure {
  /** The same request may succeed a moment later. */
  readonly retryable: boolean;
  /** As the API asked, milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The API rejects the option to report a stream's usage. */
  readonly dislikesUsage?: boolean;
  /** The error, with how often it was tried where that says something. */
  error(attempts: number): Error;
}

/** What the SDK throws: its classes are not loaded here, and its own messages may quote anything. */
interface SdkError {
  readonly status?: number | undefined;
  readonly headers?: Headers | undefined;
  readonly error?: { readonly message?: unknown; readonly code?: unknown; readonly type?: unknown } | undefined;
  readonly cause?: unknown;
}

const retryable = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Waiting longer for an answer would only be waiting as long again. */
const tooLate = 'UND_ERR_HEADERS_TIMEOUT';

export function readFailure(thrown: unknown, now: number): Failure {
  const coded = chain(thrown).find(isCodedError);
  if (coded instanceof MortiseError && coded.code.startsWith('provider_')) return final(coded);
  if (coded) {
    return final(providerError('provider_request_failed', 'provider may not be reached', { cause: coded.code }));
  }
  const { status, headers, error = {}, cause } = thrown as SdkError;
  if (status !== undefined) return refused(status, headers, error, now);
  const code = networkCode(cause ?? thrown);
  if (code === tooLate || isOwnMistake(thrown)) return final(failed({ cause: code }));
  return { retryable: true, error: (attempts) => failed({ cause: code, attempts }) };
}

function refused(
  status: number,
  headers: Headers | undefined,
  { message, code, type }: NonNullable<SdkError['error']>,
  now: number,
): Failure {
  const words = typeof message === 'string' ? message : undefined;
  const details: ProviderFailureDetails = {
    provider_status: status,
    runner_message: words,
    cause: [code, type].find((one): one is string => typeof one === 'string'),
  };
  const reported = `provider returned status ${status}`;
  if (!retryable.has(status)) {
    const dislikesUsage = status === 400 && (words?.includes('stream_options') ?? false);
    return { ...final(providerError('provider_request_failed', reported, details)), dislikesUsage };
  }
  return {
    retryable: true,
    retryAfterMs: retryAfter(headers?.get('retry-after') ?? undefined, now),
    error: (attempts) => providerError('provider_request_failed', reported, { ...details, attempts }),
  };
}

/** A request that could not even be made, such as a header that cannot be written. */
function isOwnMistake(thrown: unknown): boolean {
  return thrown instanceof TypeError && thrown.cause === undefined;
}

function final(error: Error): Failure {
  return { retryable: false, error: () => error };
}

function failed(details: ProviderFailureDetails): Error {
  return providerError('provider_request_failed', 'provider request failed', details);
}

/** Seconds or a date, as milliseconds from now. */
function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined || value.trim() === '') return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1_000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** The system's name of what happened to a connection, such as `ECONNREFUSED`. */
export function networkCode(thrown: unknown): string {
  for (const error of chain(thrown)) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,63}$/.test(code)) return code;
  }
  return 'connection_error';
}

function chain(thrown: unknown): readonly object[] {
  const found: object[] = [];
  for (let error = thrown; typeof error === 'object' && error !== null && found.length < 8; ) {
    found.push(error);
    const { cause, errors } = error as { cause?: unknown; errors?: unknown };
    error = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return found;
}
