// The AI SDK with each of its providers: one answer with a tool, streamed and not.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const [origin, api, name] = process.argv.slice(2);
const account = { baseURL: `${origin}/v1`, apiKey: 'any' };
const models = {
  messages: () => createAnthropic(account)(name),
  responses: () => createOpenAI(account).responses(name),
  chat: () => createOpenAI(account).chat(name),
  compatible: () => createOpenAICompatible({ ...account, name: 'mortise' })(name),
};
const request = {
  model: models[api](),
  prompt: 'What is 40 + 2?',
  maxRetries: 0,
  stopWhen: stepCountIs(3),
  tools: {
    add: tool({
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async ({ a, b }) => String(a + b),
    }),
  },
};
const { text } = await generateText(request);
const streamed = streamText({
  ...request,
  onError({ error }) {
    throw error;
  },
});
let parts = '';
for await (const part of streamed.textStream) parts += part;
console.log(text === parts ? text : `the streamed answer differs: ${text} / ${parts}`);
