import type { MethodResult } from './method.js';
import { serverInfo } from './methods/server-info.js';
import type { Finished } from './reply.js';
import { errorObject, type RpcFailure } from './wire/failure.js';
import { objectText } from './wire/json.js';
import { errorText, resultText } from './wire/message.js';
import { metaNames } from './wire/names.js';
import type { Era } from './wire/versions.js';

export interface Envelope {
  readonly idText: string | undefined;
  readonly era: Era;
  readonly correlationId: string;
}

/** A method's result as the client of its era expects it. */
export function resultReply(result: MethodResult, version: string, { idText, era, correlationId }: Envelope): Finished {
  const { headers } = result;
  if (result.plain && era === 'session') return { status: 200, text: resultText(idText, '{}'), headers };
  const meta = {
    ...result.meta,
    [metaNames.correlationId]: correlationId,
    ...(era === 'stateless' && { [metaNames.serverInfo]: serverInfo(version) }),
  };
  const text = objectText(
    era === 'stateless' ? `"resultType":"${result.resultType ?? 'complete'}"` : '',
    result.members,
    `"_meta":${JSON.stringify(meta)}`,
  );
  return { status: 200, text: resultText(idText, text), headers };
}

export function errorReply(failure: RpcFailure, { idText, era, correlationId }: Envelope): Finished {
  const wait = failure.options.retryAfterSeconds;
  return {
    status: failure.status(era),
    text: errorText(idText, errorObject(failure, era, correlationId)),
    headers: wait === undefined ? undefined : { 'retry-after': String(wait) },
  };
}
