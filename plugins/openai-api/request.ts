import { type ApiRequest, invalidField, type ModelApi, statelessError } from 'mortise/contracts/models';
import { isJsonObject, type RouteRequest } from 'mortise/sdk';

/** The common part of both APIs. */
export const sharedApi: Pick<ModelApi, 'naming' | 'forwardedHeaders' | 'read' | 'modelNotFound' | 'providerPath'> = {
  naming: 'openai',
  forwardedHeaders: ['openai-*', 'accept', 'accept-*', 'content-type', 'user-agent', 'x-stainless-*'],
  read: readRequest,
  modelNotFound,
  // The base URL of a provider contains the version.
  providerPath: (path) => path.replace(/^\/v1/, ''),
};

/** The fields of the options that are the same in both APIs. */
export const sharedFields = {
  toolChoice: ['tool_choice'],
  parallelToolCalls: ['parallel_tool_calls'],
  temperature: ['temperature'],
  topP: ['top_p'],
} as const;

function readRequest({ body, headers }: Pick<RouteRequest, 'body' | 'headers'>): ApiRequest {
  if (!isJsonObject(body)) throw statelessError('invalid_json');
  const { model, stream } = body;
  if (typeof model !== 'string' || model.trim() === '') throw invalidField('model is required', 'model');
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  const sessionId = headers['x-mortise-session'] ?? metadata.session_id;
  const user = [body.user, metadata.user_id, body.safety_identifier].find((one) => typeof one === 'string');
  return { body, model, metadata, sessionId, user, streams: stream === true };
}

export function modelNotFound(name: string): Error {
  return statelessError('model_not_found', { message: `The model \`${name}\` does not exist`, param: 'model' });
}

/** @throws unsupported_parameter */
export function refuseParameter(param: string, what = param): never {
  throw statelessError('unsupported_parameter', { message: `${what} is not supported`, param });
}
