import { isCodedError } from 'mortise/sdk';
import { isWireCode, wireError } from './errors.js';

/** The content of an error frame. */
export interface WireFailure {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

type Wording = (failure: Failure, sessionId: string) => WireFailure;

const unexpected: WireFailure = wording(wireError('INTERNAL_ERROR'));

/** Codes of the platform with a code or a sentence of their own on the socket. */
const wordings: Readonly<Record<string, Wording>> = {
  session_busy: () => wording(wireError('SESSION_BUSY')),
  turn_queue_timeout: () => wording(wireError('SESSION_BUSY')),
  session_fenced: ({ message, details }, sessionId) => {
    const taken = `Lock token mismatch for session ${sessionId}: another worker has taken over`;
    return wording(wireError('SESSION_FENCED', details?.reason === 'lease_not_renewed' ? message : taken));
  },
  agent_turn_timeout: ({ details }) =>
    wording(wireError('TURN_TIMEOUT', `Turn exceeded ${details?.timeout_seconds} s`)),
  turn_in_progress: () => wording(wireError('TURN_IN_PROGRESS')),
  idempotency_conflict: () => wording(wireError('IDEMPOTENCY_CONFLICT')),
  actor_mismatch: () => wording(wireError('ACTOR_MISMATCH')),
  backpressure: () => wording(wireError('BACKPRESSURE')),
  adapter_cooldown: () => wording(wireError('ADAPTER_COOLDOWN')),
  client_closed: () => wording(wireError('SERVER_SHUTTING_DOWN')),
  server_shutdown: () => wording(wireError('SERVER_SHUTTING_DOWN')),
  plugin_stopping: ({ message }) => wording(wireError('PLUGIN_UNAVAILABLE', message)),
  shutting_down: () => wording(wireError('SERVER_SHUTTING_DOWN')),
  invalid_request: ({ message, details }) =>
    wording(wireError('INVALID_PARAMS', `Invalid params: ${message}`, details)),
  invalid_json: ({ message }) => wording(wireError('INVALID_PARAMS', `Invalid params: ${message}`)),
  provider_request_failed: modelFailure,
  provider_invalid_reply: modelFailure,
  runner_error: () => wording(wireError('LLM_ERROR', 'LLM API error: the model adapter failed')),
  store_error: () => unexpected,
  database_unavailable: () => unexpected,
  database_closed: () => unexpected,
  internal_error: () => unexpected,
};

/**
 * A failure in the socket's form: its own code, or the platform's in upper case. An error without a code becomes
 * INTERNAL_ERROR, since its message may contain anything.
 */
export function wordFailure(error: unknown, sessionId = ''): WireFailure {
  if (!isCodedError(error)) return unexpected;
  const { code } = error;
  const own = wordings[code];
  if (own) return own(error, sessionId);
  if (isWireCode(code)) return wording(error);
  if (code.startsWith('provider_') && !settingCodes.includes(code)) return modelFailure(error);
  return wording({ ...wording(error), code: code.toUpperCase() });
}

/** `shutting_down` means PLUGIN_UNAVAILABLE while the process runs on: only the conversation is being stopped. */
export function submitFailure(failure: Failure, draining: boolean): Failure {
  return failure.code === 'shutting_down' && !draining ? wireError('PLUGIN_UNAVAILABLE') : failure;
}

/** Codes about how a model is set up, not about a call of it. */
const settingCodes = ['provider_not_found', 'provider_not_supported', 'provider_not_configured', 'provider_disabled'];

/** Statuses that a provider retries by itself. */
const retryable = [408, 429, 500, 502, 503, 504, 529];

/** An adapter's cause for a stream that ended before its answer was complete. */
const incomplete = 'incomplete_stream';

function modelFailure({ message, details }: Failure): WireFailure {
  const { provider_status: status, attempts, cause } = details ?? {};
  if (cause === incomplete) return wording(wireError('LLM_ERROR', 'Model stream ended before completion'));
  if (typeof attempts === 'number' && (typeof status !== 'number' || retryable.includes(status))) {
    return wording(wireError('LLM_ERROR', `LLM call failed after ${attempts} attempts: ${message}`));
  }
  const shown = typeof status === 'number' ? `LLM API error: ${status} ${message}` : `LLM API error: ${message}`;
  return wording(wireError('LLM_ERROR', shown));
}

function wording({ code, message, details }: Failure): WireFailure {
  return { code, message, ...(details ? { details } : {}) };
}
