import { MortiseError } from '../../../errors.js';
import type { Tool } from '../../../points/tool.js';
import { testSuite, wait, waitFor } from '../suite-samples.js';
import { toolSuite } from '../tool.js';

interface Args {
  readonly text: string;
  readonly wait?: number;
}

const echo = (run: Tool['run'] = good, more: Partial<Tool> = {}): Tool => ({
  summary: 'Returns its input.',
  audience: ['agent', 'mcp'],
  inputSchema: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string' }, wait: { type: 'integer', minimum: 0, maximum: 10_000 } },
    additionalProperties: false,
  },
  outputSchema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  run,
  ...more,
});

const good: Tool['run'] = async (args, { signal }) => {
  const { text, wait: ms = 0 } = args as unknown as Args;
  if (text === 'fail') throw new MortiseError('echo_failed', 'It does not echo this.');
  if (ms > 0) await waitFor(ms, signal);
  return { text };
};

let calls = 0;
let busy = 0;
let started = 0;

testSuite(
  { ...toolSuite, point: 'tool' },
  {
    good: { make: () => echo() },
    subject: {
      valid: [{ text: 'hello zanzibar' }, { text: 'other' }],
      invalid: [{}, { text: 7 }],
      failing: [{ text: 'fail' }],
      slow: { text: 'slow', wait: 3_000 },
      secretText: 'zanzibar',
      keep: ['wait'],
    },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => echo(good, { summary: '' }),
      },
      'does not modify its arguments and returns a JSON object that matches its output schema': {
        make: () => echo(async (args) => Object.assign(args, { when: new Date() })),
      },
      'has a schema that rejects invalid arguments with a message': {
        make: () => echo(good, { inputSchema: { type: 'object' } }),
      },
      'fails with a code': {
        make: () =>
          echo(async () => {
            throw new TypeError('text is undefined');
          }),
      },
      'returns the same result for the same call, regardless of calls in between': {
        make: () => echo(async ({ text }) => ({ text: `${String(text)} ${calls++}` })),
      },
      'serves 20 concurrent calls': {
        make: () =>
          echo(async ({ text }) => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return { text: together > 1 ? 'busy' : text };
          }),
      },
      'stops its work when its signal is aborted': {
        make: () => echo(async () => ({ text: String(await wait(700)) })),
      },
      'stops when its time limit has passed': { make: () => echo(async () => ({ text: String(await wait(700)) })) },
      'responds to hostile arguments with a JSON object or a code': {
        make: () =>
          echo(async ({ text }) => {
            if (String(text).includes('\ud800')) throw new Error('malformed');
            return { text };
          }),
      },
      'does not log message text': {
        make: (host) =>
          echo(async ({ text }) => {
            host.log.info(`was called with ${String(text)}`);
            return { text };
          }),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => echo(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('the socket is already open');
        },
      },
    },
  },
);
