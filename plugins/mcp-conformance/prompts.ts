import type { McpCompletion, McpPrompt } from 'mortise/contracts/mcp-server';
import { ask, field, form, png } from './tool.js';

function messages(...contents: readonly object[]) {
  return { messages: contents.map((content) => ({ role: 'user', content })) };
}

/** Prompts by name. */
export const prompts: Readonly<Record<string, McpPrompt>> = {
  test_simple_prompt: {
    description: 'A prompt without arguments.',
    get: async () => messages({ type: 'text', text: 'This is a simple prompt for testing.' }),
  },
  test_prompt_with_arguments: {
    description: 'A prompt with two arguments.',
    arguments: [
      { name: 'arg1', description: 'First argument.', required: true },
      { name: 'arg2', description: 'Second argument.', required: true },
    ],
    get: async ({ arg1, arg2 }) =>
      messages({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` }),
  },
  test_prompt_with_embedded_resource: {
    description: 'A prompt with a resource.',
    arguments: [{ name: 'resourceUri', description: 'Address of the resource.', required: true }],
    get: async ({ resourceUri }) =>
      messages(
        {
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  },
  test_prompt_with_image: {
    description: 'A prompt with an image.',
    get: async () =>
      messages(
        { type: 'image', data: png, mimeType: 'image/png' },
        { type: 'text', text: 'Please analyze the image above.' },
      ),
  },
  test_input_required_result_prompt: {
    description: 'A prompt that asks for its context.',
    get: async (_, ctx) => {
      const question = form('What is the context?', { context: { type: 'string' } }, ['context']);
      const answer = await ask(ctx, { ...question, key: 'user_context' });
      return messages({ type: 'text', text: `Context: ${field(answer, 'context')}` });
    },
  },
};

const words = ['paris', 'park', 'party', 'testing', 'test-value-1', 'test-value-2'];

/** Completions by contribution key. */
export const completions: Readonly<Record<string, McpCompletion>> = {
  'prompt-arguments': {
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    complete: async ({ value }) => words.filter((word) => word.startsWith(value)),
  },
};
