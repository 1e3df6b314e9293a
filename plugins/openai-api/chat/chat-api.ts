import { type AnswerUsage, type ModelApi, objectsOf, type PassedAnswer } from 'mortise/contracts/models';
import { isJsonObject } from 'mortise/sdk';
import { readUsage } from '../read-usage.js';
import { sharedApi, sharedFields } from '../request.js';
import { readChatMessages } from './read-messages.js';
import { translateChat } from './translate-chat.js';
import { writeCompletion, writeCompletionStream } from './write-completion.js';

/** `POST /v1/chat/completions`. */
export const chatApi: ModelApi = {
  ...sharedApi,
  isSpokenBy: ({ adapter }) => adapter === 'openai-compatible',
  translate: translateChat,
  fields: {
    ...sharedFields,
    maxOutputTokens: ['max_completion_tokens', 'max_tokens'],
    stop: ['stop'],
    reasoningEffort: ['reasoning_effort'],
    responseFormat: ['response_format'],
  },
  readMessages: ({ messages }) => readChatMessages(messages, true),
  write: writeCompletion,
  stream: writeCompletionStream,
  readPassed: readPassedChat,
};

/** Reads the copy of a completion that was passed through; undefined for one that is incomplete or calls tools. */
function readPassedChat(passed: PassedAnswer): { reply: string; usage: AnswerUsage } | undefined {
  let reply = '';
  let usage: AnswerUsage;
  let finish: unknown;
  for (const object of objectsOf(passed)) {
    usage = readUsage(object.usage) ?? usage;
    const choice: unknown = Array.isArray(object.choices) ? object.choices[0] : undefined;
    if (!isJsonObject(choice)) continue;
    const part = passed.streams ? choice.delta : choice.message;
    if (isJsonObject(part) && typeof part.content === 'string') reply += part.content;
    finish = choice.finish_reason ?? finish;
  }
  const isComplete = typeof finish === 'string' && finish !== 'tool_calls' && finish !== 'function_call';
  return isComplete ? { reply, usage } : undefined;
}
