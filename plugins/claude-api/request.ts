import { type ApiRequest, invalidField, statelessError } from 'mortise/contracts/models';
import { isJsonObject, type RouteRequest } from 'mortise/sdk';

/** @throws invalid_json for a body that is no object, invalid_request without a model */
export function readRequest({ body }: Pick<RouteRequest, 'body'>): ApiRequest {
  if (!isJsonObject(body)) throw statelessError('invalid_json');
  const { model, stream } = body;
  if (typeof model !== 'string' || model.trim() === '') throw invalidField('model is required', 'model');
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  const user = typeof metadata.user_id === 'string' ? metadata.user_id : undefined;
  return { body, model, metadata, sessionId: metadata.session_id, user, streams: stream === true };
}
