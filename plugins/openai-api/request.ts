import { invalidField, statelessError } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject, type RouteRequest } from 'mortise/sdk';

/** The fields that every request of the API has; all others are read where they are used. */
export interface OpenAiRequest {
  readonly body: JsonObject;
  /** As the client names it. */
  readonly model: string;
  readonly metadata: JsonObject;
  /** The session that the exchange is recorded in. */
  readonly sessionId: unknown;
  /** The user that the request names. */
  readonly user: string | undefined;
  readonly streams: boolean;
}

/** @throws invalid_json for a body that is no object, invalid_request without a model */
export function readOpenAiRequest({ body, headers }: Pick<RouteRequest, 'body' | 'headers'>): OpenAiRequest {
  if (!isJsonObject(body)) throw statelessError('invalid_json');
  const { model, stream } = body;
  if (typeof model !== 'string' || model.trim() === '') throw invalidField('model is required', 'model');
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  const sessionId = headers['x-mortise-session'] ?? metadata.session_id;
  const user = [body.user, metadata.user_id, body.safety_identifier].find((one) => typeof one === 'string');
  return { body, model, metadata, sessionId, user, streams: stream === true };
}

/** @throws unsupported_parameter */
export function refuseParameter(param: string, what = param): never {
  throw statelessError('unsupported_parameter', { message: `${what} is not supported`, param });
}
