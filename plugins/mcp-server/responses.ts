import type { RouteResponse } from 'mortise/sdk';
import { serverInfo } from './features.js';
import type { MethodResult } from './method.js';
import { errorObject, type RpcFailure } from './wire/failure.js';
import { errorText, objectText, resultText } from './wire/message.js';
import { type Mode, metaNames } from './wire/protocol.js';

/** The response to one `POST`. */
export interface HttpReply {
  readonly status: number;
  /** JSON; undefined for a response without body. */
  readonly text: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What surrounds a result or error. */
interface Envelope {
  readonly idText: string | undefined;
  readonly mode: Mode;
  readonly correlationId: string;
}

export function resultReply(
  result: MethodResult,
  version: string,
  { idText, mode, correlationId }: Envelope,
): HttpReply {
  const { headers } = result;
  if (result.plain && mode === 'session') return { status: 200, text: resultText(idText, '{}'), headers };
  const meta = {
    ...result.meta,
    [metaNames.correlationId]: correlationId,
    ...(mode === 'stateless' && { [metaNames.serverInfo]: serverInfo(version) }),
  };
  const text = objectText(
    mode === 'stateless' ? `"resultType":"${result.resultType ?? 'complete'}"` : '',
    result.members,
    `"_meta":${JSON.stringify(meta)}`,
  );
  return { status: 200, text: resultText(idText, text), headers };
}

export function errorReply(failure: RpcFailure, { idText, mode, correlationId }: Envelope): HttpReply {
  return {
    status: failure.status(mode),
    text: errorText(idText, errorObject(failure, mode, correlationId)),
    headers: retryAfter(failure),
  };
}

export function retryAfter({ options }: RpcFailure): Readonly<Record<string, string>> | undefined {
  const seconds = options.retryAfterSeconds;
  return seconds === undefined ? undefined : { 'retry-after': String(seconds) };
}

export function jsonReply({ status, text, headers }: HttpReply): RouteResponse {
  if (text === undefined) return { status, headers: headers ?? {} };
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: text };
}

/** A refusal outside JSON-RPC, with the same members as those of the host. */
export function refusal(
  status: number,
  reason: string,
  text: string,
  correlationId: string,
  headers: Readonly<Record<string, string>> = {},
): RouteResponse {
  return { status, headers, body: { ok: false, error: text, detail: text, reason, correlation_id: correlationId } };
}

/** The refusal of a body that is neither JSON-RPC nor the legacy form. */
export function invalidFormat(why: string, correlationId: string): RouteResponse {
  return {
    status: 400,
    body: {
      ok: false,
      error: `Invalid request format: ${why}.`,
      reason: 'INVALID_REQUEST',
      correlation_id: correlationId,
    },
  };
}
