import { MortiseError, redactSecrets } from 'mortise/sdk';

const table = {
  provider_not_configured: [400, 'provider api_key is required'],
  provider_not_supported: [400, 'provider does not support attachments'],
  provider_request_failed: [502, 'provider stream request failed'],
  provider_invalid_reply: [502, 'provider response is not valid json'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

/** Details of a failure. */
export interface ProviderFailureDetails {
  /** The API's own message, without secrets. */
  readonly runner_message?: string | undefined;
  /** A short code of the underlying error. */
  readonly cause?: string | undefined;
  /** HTTP status of the API. */
  readonly provider_status?: number | undefined;
  /** Number of attempts, for retryable failures. */
  readonly attempts?: number | undefined;
}

/** Cause of a stream that ended before its answer was complete. */
export const incompleteStream = 'incomplete_stream';

/** Cause of a failure after too long a silence. */
export const idleTimeout = 'idle_timeout';

/** The error of a call that took longer than its time limit. */
export function timedOut(): MortiseError {
  return providerError('provider_request_failed', 'provider request timed out', { cause: 'timeout' });
}

/** Maximum code points of the API's message that are passed on. */
const messageLimit = 2_000;

/** An error of an adapter, the same for every API; `message` replaces the sentence of its row. */
export function providerError(
  code: keyof typeof table,
  message?: string,
  details: ProviderFailureDetails = {},
  retryAfterSeconds?: number,
): MortiseError {
  const [status, sentence] = table[code];
  const { runner_message: text, ...rest } = details;
  const shown = Object.entries({ ...rest, ...(text ? { runner_message: cut(redactSecrets(text)) } : {}) }).filter(
    ([, value]) => value !== undefined,
  );
  return new MortiseError(code, message ?? sentence, {
    status,
    ...(shown.length === 0 ? {} : { details: Object.fromEntries(shown) }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

function cut(text: string): string {
  return text.length <= messageLimit ? text : [...text.slice(0, 2 * messageLimit)].slice(0, messageLimit).join('');
}
