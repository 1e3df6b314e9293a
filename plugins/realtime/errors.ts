import { MortiseError } from 'mortise/sdk';

const table = {
  PARSE_ERROR: 'Invalid JSON',
  INVALID_PARAMS: 'Invalid params',
  METHOD_NOT_FOUND: 'Unknown method',
  SESSION_BUSY: 'Session is being processed by another request. Please try again.',
  SESSION_FENCED: 'Another worker has taken over',
  LLM_ERROR: 'LLM call failed',
  TURN_TIMEOUT: 'Turn took too long',
  GATE_DROPPED: 'The message was refused by the gate',
  BACKPRESSURE: 'Server is overloaded. Please try again.',
  ADAPTER_COOLDOWN: 'The input adapter is cooling down after repeated failures',
  RATE_LIMITED: 'Too many requests',
  TURN_IN_PROGRESS: 'A turn with this idempotency key is in progress',
  IDEMPOTENCY_CONFLICT: 'The idempotency key was used with other content',
  ACTOR_MISMATCH: 'user_id is not the user this key belongs to',
  AUTH_REQUIRED: 'The first frame must authenticate',
  AUTH_FAILED: 'The API key is not valid',
  AUTH_TIMEOUT: 'The first frame came too late',
  AUTH_RATE_LIMITED: 'Too many failed attempts. Please wait.',
  SERVER_SHUTTING_DOWN: 'Server is shutting down',
  PLUGIN_UNAVAILABLE: 'The plugin that serves this method is not running',
  INTERNAL_ERROR: 'An internal error occurred',
} as const;

type WireCode = keyof typeof table;

/** An error of the socket. `message` replaces the sentence of its row. */
export function wireError(
  code: WireCode,
  message: string = table[code],
  details?: Readonly<Record<string, unknown>>,
): MortiseError {
  return new MortiseError(code, message, { status: 400, ...(details ? { details } : {}) });
}

export function invalidParams(field: string, rule: string): MortiseError {
  return wireError('INVALID_PARAMS', `Invalid params: ${field} ${rule}`);
}

/** Whether a code is one of the socket's own. */
export function isWireCode(code: string): code is WireCode {
  return Object.hasOwn(table, code);
}
