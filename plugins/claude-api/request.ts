import { invalidField, statelessError } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject } from 'mortise/sdk';

/** The fields that every request of the API has; all others are read where they are used. */
export interface ClaudeRequest {
  readonly body: JsonObject;
  /** As the client names it. */
  readonly model: string;
  readonly metadata: JsonObject;
  /** The user that the request names. */
  readonly user: string | undefined;
  readonly streams: boolean;
}

/** @throws invalid_json for a body that is no object, invalid_request without a model */
export function readClaudeRequest(body: unknown): ClaudeRequest {
  if (!isJsonObject(body)) throw statelessError('invalid_json');
  const { model, stream } = body;
  if (typeof model !== 'string' || model.trim() === '') throw invalidField('model is required', 'model');
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  const user = typeof metadata.user_id === 'string' ? metadata.user_id : undefined;
  return { body, model, metadata, user, streams: stream === true };
}

/** Headers of a client that its provider gets too. */
export const forwardedHeaders: readonly string[] = [
  'anthropic-*',
  'accept',
  'accept-encoding',
  'content-type',
  'user-agent',
  'x-app',
  'x-stainless-*',
];

/** The adapter that speaks this API itself. */
export const ownAdapter = 'anthropic';
