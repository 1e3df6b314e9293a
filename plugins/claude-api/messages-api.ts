import { type ApiRequest, invalidField, type ModelApi, statelessError } from 'mortise/contracts/models';
import { isJsonObject, type RouteRequest } from 'mortise/sdk';
import { readPassedAnswer } from './passed-answer.js';
import { readMessages } from './read-messages.js';
import { translateRequest } from './translate-request.js';
import { ping, writeMessage, writeStream } from './write-answer.js';

/** `POST /v1/messages`. */
export const messagesApi: ModelApi = {
  naming: 'anthropic',
  forwardedHeaders: [
    'anthropic-*',
    'accept',
    'accept-encoding',
    'content-type',
    'user-agent',
    'x-app',
    'x-stainless-*',
  ],
  keepAlive: ping,
  read: readRequest,
  modelNotFound: (name) => statelessError('model_not_found', { message: `model: ${name}` }),
  isSpokenBy: ({ adapter }) => adapter === 'anthropic',
  providerPath: (path) => path,
  translate: translateRequest,
  fields: {
    toolChoice: ['tool_choice'],
    parallelToolCalls: ['tool_choice.disable_parallel_tool_use'],
    maxOutputTokens: ['max_tokens'],
    temperature: ['temperature'],
    topP: ['top_p'],
    stop: ['stop_sequences'],
    reasoningEffort: ['thinking', 'output_config.effort'],
    responseFormat: ['output_format', 'output_config.format'],
  },
  readMessages: (body) => readMessages(body, true),
  write: writeMessage,
  stream: writeStream,
  readPassed: readPassedAnswer,
};

/** @throws invalid_json for a body that is not an object, invalid_request without a model */
function readRequest({ body }: Pick<RouteRequest, 'body'>): ApiRequest {
  if (!isJsonObject(body)) throw statelessError('invalid_json');
  const { model, stream } = body;
  if (typeof model !== 'string' || model.trim() === '') throw invalidField('model is required', 'model');
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  const user = typeof metadata.user_id === 'string' ? metadata.user_id : undefined;
  return { body, model, metadata, sessionId: metadata.session_id, user, streams: stream === true };
}
