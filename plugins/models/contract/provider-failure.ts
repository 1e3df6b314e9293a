import { isCodedError, isJsonObject, MortiseError, retryAfterMs } from 'mortise/sdk';
import { idleTimeout, type ProviderFailureDetails, providerError } from './provider-error.js';

/** A request that failed before the first byte of its answer. */
export interface Failure {
  /** The same request may succeed a moment later. */
  readonly retryable: boolean;
  /** The API's `Retry-After`, milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The API refused `stream_options`. */
  readonly refusesUsage?: boolean;
  /** The error; retryable ones contain the number of attempts. */
  error(attempts: number): Error;
}

/** An error of the SDK. Its classes are not loaded here, and its messages may contain anything. */
interface SdkError {
  readonly status?: number | undefined;
  readonly headers?: Headers | undefined;
  readonly error?: ErrorBody | { readonly error?: ErrorBody } | undefined;
  readonly cause?: unknown;
}

/** An error that an API reports; some SDKs return the body around it. */
interface ErrorBody {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly type?: unknown;
}

const retryable = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Codes of time-outs, which are not retried: a retry would only wait as long again. */
const timeoutCodes: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

export function readFailure(thrown: unknown, now: number): Failure {
  const coded = chain(thrown).find(isCodedError);
  if (coded instanceof MortiseError && coded.code.startsWith('provider_')) return final(coded);
  if (coded) {
    return final(providerError('provider_request_failed', 'provider may not be reached', { cause: coded.code }));
  }
  const { status, headers, error = {}, cause } = thrown as SdkError;
  const body = isJsonObject(error) && isJsonObject(error.error) ? error.error : error;
  if (status !== undefined) return refused(status, headers, body as ErrorBody, now);
  const code = networkCode(cause ?? thrown);
  if (timeoutCodes.has(code)) return final(providerError('provider_request_failed', undefined, { cause: idleTimeout }));
  if (isInvalidRequest(thrown)) return final(failed({ cause: code }));
  return { retryable: true, error: (attempts) => failed({ cause: code, attempts }) };
}

function refused(
  status: number,
  headers: Headers | undefined,
  { message, code, type }: ErrorBody,
  now: number,
): Failure {
  const text = typeof message === 'string' ? message : undefined;
  const details: ProviderFailureDetails = {
    provider_status: status,
    runner_message: text,
    cause: [code, type].find((one): one is string => typeof one === 'string'),
  };
  const sentence = `provider returned status ${status}`;
  if (!retryable.has(status)) {
    const refusesUsage = status === 400 && (text?.includes('stream_options') ?? false);
    return { ...final(providerError('provider_request_failed', sentence, details)), refusesUsage };
  }
  const waitMs = headers && retryAfterMs(headers, now);
  // Only rate limits pass the time on: other failures may be over by then, and a retrying client would wait in vain.
  const seconds = status === 429 && waitMs !== undefined ? Math.ceil(waitMs / 1_000) : undefined;
  return {
    retryable: true,
    retryAfterMs: waitMs,
    error: (attempts) => providerError('provider_request_failed', sentence, { ...details, attempts }, seconds),
  };
}

/** The request could not be made, for instance because of an invalid header. */
function isInvalidRequest(thrown: unknown): boolean {
  return thrown instanceof TypeError && thrown.cause === undefined;
}

function final(error: Error): Failure {
  return { retryable: false, error: () => error };
}

function failed(details: ProviderFailureDetails): Error {
  return providerError('provider_request_failed', 'provider request failed', details);
}

/** The system's code of a connection error, such as `ECONNREFUSED`. */
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
