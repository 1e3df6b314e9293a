import { isCodedError, type Logger } from 'mortise/sdk';
import { failureOf } from '../failure-of.js';
import { errorObject } from '../wire/failure.js';
import type { JsonObject } from '../wire/json.js';
import { ArgumentFailure } from './arguments.js';
import { ownAnswer, type ToolAnswer } from './tool-result.js';

/** What a tool says of arguments that its schema could not refuse. */
const argumentCodes: ReadonlySet<string> = new Set([
  'MISSING_REQUIRED_PARAM',
  'INVALID_PARAM_TYPE',
  'INVALID_PARAM_VALUE',
]);

/**
 * Arguments that were refused, as a tool's answer: the stateless revision keeps errors of the protocol for calls that
 * no model can mend (SEP-1303). It tells all that the JSON-RPC error of earlier revisions does. Undefined for any other
 * failure.
 */
export function refusedArguments(error: unknown, log: Logger, correlationId: string): ToolAnswer | undefined {
  if (!isRefusal(error)) return undefined;
  const { code, message, data } = errorObject(failureOf(error, log, correlationId), 'stateless', correlationId);
  return ownAnswer({ ok: false, code, message, ...(data as JsonObject) });
}

function isRefusal(error: unknown): boolean {
  return error instanceof ArgumentFailure || (isCodedError(error) && argumentCodes.has(error.code));
}
