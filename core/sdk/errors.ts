import { redactDeep, redactSecrets } from './mask.js';

export interface MortiseErrorOptions {
  /** HTTP status of the response; 500 when absent. */
  readonly status?: number | undefined;
  /** JSON facts for the caller. Never secrets, SQL, paths of the machine or message text. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** What to do next, in one sentence. */
  readonly hint?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The error type of the platform: a stable code, a sentence, and what an API needs for its response.
 * APIs convert it into their own envelope; the cause is only logged. Secrets are removed from its texts, because they
 * often quote user input or an upstream's response.
 */
export class MortiseError extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly hint: string | undefined;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: string, message: string, options: MortiseErrorOptions = {}) {
    super(redactSecrets(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MortiseError';
    this.code = code;
    this.status = options.status ?? 500;
    this.details = options.details && redactDeep(options.details);
    this.hint = options.hint && redactSecrets(options.hint);
    this.retryable = options.retryable ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Plugins may also throw a plain `{code, message, status?, details?}`; this distinguishes both from an unexpected fault. */
export function isCodedError(
  error: unknown,
): error is { code: string; message: string; status?: number; details?: Record<string, unknown> } {
  return (
    error instanceof MortiseError ||
    (typeof error === 'object' &&
      error !== null &&
      !(error instanceof Error) &&
      typeof (error as { code?: unknown }).code === 'string' &&
      typeof (error as { message?: unknown }).message === 'string')
  );
}

/** The errors of one API. */
interface ErrorTable<Code extends string> {
  /** An error of the table; `message` replaces the sentence of its row, `status` its status. */
  error(code: Code, options?: MortiseErrorOptions & { readonly message?: string | undefined }): MortiseError;
  /** Runs a store operation. An unexpected error becomes `store_error`, with the cause for the log only. */
  readonly storing: 'store_error' extends Code ? <T>(run: () => Promise<T>) => Promise<T> : undefined;
  has(code: string): code is Code;
  /** Whether an error is one of this row. */
  is(error: unknown, code: Code): boolean;
}

/**
 * Makes the errors of one API from rows of code, HTTP status and sentence.
 *
 * @param wireCodes the codes that are sent for rows that share one
 */
export function errorTable<Code extends string>(
  rows: Readonly<Record<Code, readonly [status: number, sentence: string]>>,
  wireCodes?: Readonly<Partial<Record<Code, string>>>,
): ErrorTable<Code> {
  const sent = (code: Code): string => wireCodes?.[code] ?? code;
  const error: ErrorTable<Code>['error'] = (code, { message, ...options } = {}) => {
    const [status, sentence] = rows[code];
    return new MortiseError(sent(code), message ?? sentence, {
      ...options,
      status: options.status ?? status,
    });
  };
  const storing = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (cause) {
      if (isCodedError(cause)) throw cause;
      throw error('store_error' as Code, { cause });
    }
  };
  return {
    error,
    storing: storing as ErrorTable<Code>['storing'],
    has: (code): code is Code => Object.hasOwn(rows, code),
    is: (thrown, code) => isCodedError(thrown) && thrown.code === sent(code),
  };
}

/** Why an argument is refused. It is also the code of the error. */
export type ArgumentReason = 'MISSING_REQUIRED_PARAM' | 'INVALID_PARAM_TYPE' | 'INVALID_PARAM_VALUE';

/**
 * The error (status 422) for a tool argument that passed the JSON schema but is not acceptable. It has the form of a
 * schema violation.
 *
 * @param path JSON Pointer into the arguments
 * @param expected the rest of a sentence that begins with the argument's name, such as `must not be blank`
 */
export function argumentError(
  tool: string,
  path: string,
  expected: string,
  reason: ArgumentReason = 'INVALID_PARAM_VALUE',
): MortiseError {
  const message = `${path.slice(1)} ${expected}.`;
  return new MortiseError(reason, message, {
    status: 422,
    details: { category: 'validation', tool, path, expected, errors: [{ path, reason, message }] },
  });
}
