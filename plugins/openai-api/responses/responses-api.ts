import type { ModelApi } from 'mortise/contracts/models';
import { sharedApi, sharedFields } from '../request.js';
import { readPassedResponse } from './passed-response.js';
import { readInput } from './read-input.js';
import { translateResponse } from './translate-response.js';
import { writeResponse, writeResponseStream } from './write-response.js';

/** `POST /v1/responses`. Of the compatible APIs, only OpenAI's own has it for sure. */
export const responsesApi: ModelApi = {
  ...sharedApi,
  isSpokenBy: ({ adapter, providerId }) =>
    adapter === 'codex-compatible' || (adapter === 'openai-compatible' && providerId === 'openai'),
  translate: translateResponse,
  fields: {
    ...sharedFields,
    maxOutputTokens: ['max_output_tokens'],
    stop: [],
    reasoningEffort: ['reasoning.effort'],
    responseFormat: ['text.format'],
  },
  readMessages: (body) => readInput(body, true, []),
  write: writeResponse,
  stream: writeResponseStream,
  readPassed: readPassedResponse,
};
