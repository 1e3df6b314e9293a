import { setTimeout as pause } from 'node:timers/promises';
import type { ToolContext } from 'mortise/sdk';
import { ask, form, objectSchema, sampling, type Tools, text, tool } from './tool.js';

const string = { type: 'string' };
const stepMs = 50;

async function inSteps<T>({ signal }: ToolContext, steps: readonly T[], take: (step: T) => void): Promise<void> {
  for (const step of steps) {
    take(step);
    await pause(stepMs, undefined, { signal });
  }
}

const everyDefault = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

const titled = (names: readonly string[], values: readonly string[]) =>
  values.map((value, index) => ({ const: value, title: names[index] }));

const everyEnum = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: {
    type: 'string',
    oneOf: titled(['First Option', 'Second Option', 'Third Option'], ['value1', 'value2', 'value3']),
  },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: {
    type: 'array',
    items: { anyOf: titled(['First Choice', 'Second Choice', 'Third Choice'], ['value1', 'value2', 'value3']) },
  },
};

/** Tools that send logs, progress and questions to their client while they run. */
export const clientTools: Tools = {
  test_reconnection: tool('Ends its connection, and answers when the client is back.', async (_, ctx) => {
    ctx.releaseStream?.();
    await pause(stepMs, undefined, { signal: ctx.signal });
    return text('Reconnection test completed successfully');
  }),
  test_tool_with_logging: tool(
    'Logs while it runs.',
    async (_, ctx) => {
      const messages = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
      await inSteps(ctx, messages, (message) => ctx.log.info(message));
      return text('Logged three times.');
    },
    { capabilities: ['logging'] },
  ),
  test_logging_tool: tool(
    'Logs once.',
    (_, ctx) => {
      ctx.log.info('A log message.');
      return text('Logged once.');
    },
    { capabilities: ['logging'] },
  ),
  test_tool_with_progress: tool('Reports progress.', async (_, ctx) => {
    await inSteps(ctx, [0, 50, 100], (done) => ctx.progress?.(done, 100));
    return text('Progress was reported.');
  }),
  test_sampling: tool(
    "Asks the client's model.",
    async ({ prompt }, ctx) => {
      const { content } = await ask(ctx, sampling(String(prompt)));
      return text(`LLM response: ${Reflect.get(Object(content), 'text')}`);
    },
    { inputSchema: objectSchema({ prompt: string }, ['prompt']) },
  ),
  test_elicitation: tool(
    'Asks a person.',
    async ({ message }, ctx) => {
      const username = { ...string, description: "User's response" };
      const email = { ...string, description: "User's email address" };
      const answer = await ask(ctx, form(String(message), { username, email }, ['username', 'email']));
      return text(`User response: action: ${answer.action}, content: ${JSON.stringify(answer.content)}`);
    },
    { inputSchema: objectSchema({ message: string }, ['message']) },
  ),
  test_elicitation_sep1034_defaults: tool('Asks with a default for every type.', async (_, ctx) =>
    completed(await ask(ctx, form('Please review these defaults.', everyDefault))),
  ),
  test_elicitation_sep1330_enums: tool('Asks with every form of choice.', async (_, ctx) =>
    completed(await ask(ctx, form('Please choose.', everyEnum))),
  ),
  test_missing_capability: tool('Needs a client that can sample.', (_, ctx) => {
    ctx.requireCapability?.('sampling');
    return text('The client can sample.');
  }),
  test_streaming_elicitation: tool('Asks after it has reported progress.', async (_, ctx) => {
    ctx.progress?.(1, 2);
    await ask(ctx, form('What is your name?', { name: string }, ['name']));
    return text('Answered.');
  }),
};

function completed({ action, content }: Readonly<Record<string, unknown>>) {
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
}
