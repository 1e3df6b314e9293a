import { type AnswerUsage, type ModelApi, objectsOf, type PassedAnswer } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { readUsage } from '../read-usage.js';
import { sharedApi, sharedFields } from '../request.js';
import { readInput } from './read-input.js';
import { translateResponse } from './translate-response.js';
import { writeResponse, writeResponseStream } from './write-response.js';

/** `POST /v1/responses`. Of the APIs behind `openai-compatible`, only OpenAI's is certain to have it. */
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

/** Reads the copy of a response that was passed through; undefined for one that is incomplete or calls functions. */
function readPassedResponse(passed: PassedAnswer): { reply: string; usage: AnswerUsage } | undefined {
  const objects = objectsOf(passed);
  const response = passed.streams ? objects.map((event) => event.response).findLast(isJsonObject) : objects[0];
  if (response?.status !== 'completed' && response?.status !== 'incomplete') return undefined;
  const items = Array.isArray(response.output) ? response.output.filter(isJsonObject) : [];
  if (items.some(({ type }) => typeof type === 'string' && type.endsWith('_call'))) return undefined;
  return { reply: items.map(textOfItem).join(''), usage: readUsage(response.usage) };
}

function textOfItem({ type, content }: JsonObject): string {
  if (type !== 'message' || !Array.isArray(content)) return '';
  return content
    .filter(isJsonObject)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}
