import { setTimeout as pause } from 'node:timers/promises';
import { mcpContent } from 'mortise/contracts/mcp-server';
import { ask, field, form, objectSchema, type Tools, text, tool } from './tool.js';

const string = { type: 'string' };

/** Tools that run as tasks for clients that support tasks. */
export const taskTools: Tools = {
  slow_compute: tool(
    'Takes some seconds.',
    async ({ seconds, label }, { signal }) => {
      await pause(Number(seconds ?? 0) * 1_000, undefined, { signal });
      return text(`done ${label ?? ''}`);
    },
    {
      task: 'allowed',
      inputSchema: objectSchema({ seconds: { type: 'number', minimum: 0, maximum: 600 }, label: string }),
    },
  ),
  failing_job: tool(
    'Ends with an error result.',
    async (_, { signal }) => {
      await pause(300, undefined, { signal });
      return mcpContent([{ type: 'text', text: 'The job failed on purpose.' }], { isError: true });
    },
    { task: 'required' },
  ),
  protocol_error_job: tool(
    'Ends with a protocol error.',
    () => {
      // Without a code: a coded error would be a result of the tool, this is a protocol error.
      throw new Error('The job broke on purpose.');
    },
    { task: 'allowed' },
  ),
  confirm_delete: tool(
    'Asks before it pretends to delete a file.',
    async ({ filename }, ctx) => {
      const answer = await ask(ctx, form(`Delete ${filename}?`, { confirm: { type: 'boolean' } }, ['confirm']));
      return text(answer.action === 'accept' ? `deleted ${filename}` : `kept ${filename}`);
    },
    { task: 'allowed', inputSchema: objectSchema({ filename: string }) },
  ),
  multi_input: tool(
    'Asks two things at once.',
    async (_, ctx) => {
      const questions = [
        form('Your name?', { name: string }, ['name']),
        form('Your age?', { age: { type: 'number' } }, ['age']),
      ];
      return text(JSON.stringify(await Promise.all(questions.map((question) => ask(ctx, question)))));
    },
    { task: 'allowed' },
  ),
  test_tool_with_task: tool(
    'Asks for a name, then greets in a task.',
    ({ user_name }) => text(`Hello, ${user_name ?? 'stranger'}!`),
    {
      task: 'required',
      inputSchema: objectSchema({ user_name: string }),
      async beforeTask(args, ctx) {
        const answer = await ask(ctx, { ...form('What is your name?', { name: string }, ['name']), key: 'user_name' });
        return { ...args, user_name: field(answer, 'name') };
      },
    },
  ),
};
