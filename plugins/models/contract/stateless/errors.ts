import { isCodedError, MortiseError } from 'mortise/sdk';

const table = {
  invalid_json: [400, 'invalid request body'],
  invalid_request: [400, 'the request is not valid'],
  unsupported_parameter: [400, 'the parameter is not supported'],
  model_not_found: [404, 'the model does not exist'],
  forbidden: [403, 'this key cannot record exchanges of another user'],
  drop_actor: [403, 'requests of this user are stopped by the gate'],
  emergency_mode: [529, 'the gate is in emergency mode'],
  system_overload: [529, 'the server is overloaded'],
  provider_not_supported: [400, 'provider does not support attachments'],
  provider_request_failed: [502, 'provider stream request failed'],
  invalid_model_output: [502, 'the answer of the model does not match the requested format'],
} as const satisfies Readonly<Record<string, readonly [status: number, sentence: string]>>;

export type StatelessErrorCode = keyof typeof table;

interface Replacement {
  /** Replaces the sentence of the row. */
  readonly message?: string;
  readonly status?: number;
  /** The field of the request. */
  readonly param?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
}

/** An error of the stateless model APIs. */
export function statelessError(code: StatelessErrorCode, replacement: Replacement = {}): MortiseError {
  const [status, sentence] = table[code];
  const { message = sentence, param, details, retryAfterSeconds } = replacement;
  const shown = { ...details, ...(param === undefined ? {} : { param }) };
  return new MortiseError(code, message, {
    status: replacement.status ?? status,
    ...(Object.keys(shown).length === 0 ? {} : { details: shown }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds, retryable: true }),
  });
}

/** A request that is refused because of one of its fields. */
export function invalidField(message: string, param: string): MortiseError {
  return statelessError('invalid_request', { message, param });
}

/** Statuses with which a provider refuses the request itself. The same request would be refused again. */
const refusals: ReadonlySet<unknown> = new Set([400, 404, 413, 422]);

/**
 * The error for the client of a translated request when its provider fails. A rate limit and a refused request are passed
 * on. Everything else is a bad gateway with the provider's message; so is a refused key, which the client cannot correct.
 */
export function clientFailure(error: unknown, signal: AbortSignal): unknown {
  signal.throwIfAborted();
  if (!isCodedError(error)) return statelessError('provider_request_failed', { message: 'provider request failed' });
  if (error.code === 'contribution_unknown') {
    return statelessError('provider_not_supported', { message: 'the adapter of the provider is not running' });
  }
  if (error.code !== 'provider_request_failed') return error;
  const { provider_status: status, runner_message: message } = error.details ?? {};
  const details = error.details ?? {};
  if (status === 401 || status === 403) {
    return statelessError('provider_request_failed', { message: 'provider rejected the credentials', details });
  }
  const retryAfterSeconds = error instanceof MortiseError ? error.retryAfterSeconds : undefined;
  if (status === 429) {
    return statelessError('provider_request_failed', {
      message: error.message,
      status: 429,
      details,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }
  const text = typeof message === 'string' && message !== '' ? message : undefined;
  if (refusals.has(status))
    return statelessError('provider_request_failed', { message: text ?? error.message, status: 400, details });
  if (text === undefined) return error;
  return statelessError('provider_request_failed', { message: `${error.message}: ${text}`, details });
}
