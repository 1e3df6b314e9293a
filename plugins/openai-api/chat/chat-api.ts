import type { ModelApi } from 'mortise/contracts/models';
import { sharedApi, sharedFields } from '../request.js';
import { readPassedChat } from './passed-chat.js';
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
