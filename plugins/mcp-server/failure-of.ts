import { isCodedError, isJsonObject, type JsonObject, type Logger, maskDeep, redactSecrets } from 'mortise/sdk';
import { isReason, RpcFailure, reasons, shown } from './wire/failure.js';

/**
 * A coded error that a tool threw and that is no reason of the protocol. It is an expected outcome: clients get it as a tool
 * result, so that the model can react. Only the legacy body, which has no such results, answers with it as an error.
 */
export class ToolError extends RpcFailure {
  readonly #error: Coded;

  private constructor(error: Coded, { reason, message, options }: RpcFailure) {
    super(reason, message, options);
    this.#error = error;
  }

  /** Undefined for an error that stays a protocol error: authorisation, policy, infrastructure, refused arguments. */
  static from(error: Coded): ToolError | undefined {
    const failure = codedFailure(error);
    return failure.reason === 'TOOL_EXECUTION_FAILED' ? new ToolError(error, failure) : undefined;
  }

  /** The tool result, with everything that looks like a secret redacted. */
  result(correlationId: string): JsonObject {
    const { code, message, details, hint, retryable = false } = this.#error;
    return {
      ok: false,
      code: shown(code),
      message: redactSecrets(message),
      ...(hint === undefined ? {} : { hint: redactSecrets(hint) }),
      retryable,
      correlation_id: correlationId,
      details: shownDetails(details),
    };
  }
}

/** Details that refer to themselves are left out: the error itself is what counts. */
function shownDetails(details: Coded['details']): unknown {
  try {
    return maskDeep(details ?? {});
  } catch {
    return {};
  }
}

/** Turns anything that was thrown into the failure sent to the client. Unexpected errors are logged and not shown. */
export function failureOf(error: unknown, log: Logger, correlationId: string): RpcFailure {
  if (error instanceof RpcFailure) return error;
  if (isCodedError(error)) return codedFailure(error);
  log.error({ err: error, correlation_id: correlationId }, 'A request of the MCP endpoint failed unexpectedly.');
  return new RpcFailure('UNHANDLED_EXCEPTION', `Internal error (${correlationId})`);
}

interface Coded {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly hint?: string | undefined;
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

function codedFailure(error: Coded): RpcFailure {
  const { category: _, ...details }: JsonObject = isJsonObject(error.details) ? error.details : {};
  if (isReason(error.code) && isToolReason(error.code)) {
    const declared = 'retryable' in error && typeof error.retryable === 'boolean';
    // Whether a backend error is worth a retry depends on the backend's status, which only the tool knows.
    const retryable =
      declared && error.code === 'OPENMEMORY_API_ERROR' ? { retryable: error.retryable as boolean } : {};
    const wait = error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds };
    return new RpcFailure(error.code, error.message, { details, ...retryable, ...wait });
  }
  switch (error.code) {
    case 'call_timeout':
      return new RpcFailure('TOOL_TIMEOUT', 'The call took too long.', { details });
    case 'database_unavailable':
      return new RpcFailure('LOGBOOK_DB_UNAVAILABLE', 'The database did not answer.', {
        details: { service: 'database' },
      });
    default:
      return new RpcFailure('TOOL_EXECUTION_FAILED', error.message, {
        details: { code: shown(error.code), ...details },
      });
  }
}

/** Whether a tool may throw this reason itself; the others belong to the endpoint. */
function isToolReason(code: keyof typeof reasons): boolean {
  const { category } = reasons[code];
  return category !== 'protocol' && code !== 'INTERNAL_ERROR' && code !== 'UNHANDLED_EXCEPTION';
}
