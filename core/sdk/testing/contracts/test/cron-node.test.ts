import { MortiseError } from '../../../errors.js';
import type { CronNode } from '../../../points/cron-node.js';
import { cronNodeSuite } from '../cron-node.js';
import { testSuite, wait, waitFor } from '../suite-samples.js';

const good: CronNode['run'] = async ({ text, seconds }, { signal, results }) => {
  if (text === 'fail') throw new MortiseError('node_failed', 'It cannot do this.');
  if (typeof seconds === 'number') await waitFor(seconds * 1_000, signal);
  return { output: { said: text, before: Object.keys(results).length } };
};

const node = (run: CronNode['run'] = good, more: Partial<CronNode> = {}): CronNode => ({
  summary: 'Returns a text.',
  paramsSchema: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string' }, seconds: { type: 'number', minimum: 0, maximum: 60 } },
  },
  run,
  ...more,
});

let calls = 0;
let busy = 0;
let started = 0;

testSuite(
  { ...cronNodeSuite, point: 'cron-node' },
  {
    good: { make: () => node() },
    subject: {
      valid: [{ text: 'hello' }, { text: 'other' }],
      invalid: [{ text: 1 }],
      failing: [{ text: 'fail' }],
      slow: { text: 'slow', seconds: 3 },
      results: { earlier: { ok: true } },
    },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => node(good, { summary: '' }),
      },
      'accepts parameters that match its schema and returns a JSON object': {
        make: () => node(async (params) => Object.assign(params, { result: 'changed' })),
      },
      'has a schema that rejects invalid parameters': {
        make: () => node(good, { paramsSchema: { type: 'object' } }),
      },
      'fails with a code': { make: () => node(async () => ({})) },
      'returns the same result for the same call, regardless of calls in between': {
        make: () => node(async () => ({ output: { call: calls++ } })),
      },
      'serves 20 concurrent calls': {
        make: () =>
          node(async () => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return { output: { busy: together > 1 } };
          }),
      },
      'stops its work when its signal is aborted': {
        make: () =>
          node(async () => {
            await wait(700);
            return {};
          }),
      },
      'responds to hostile parameters that match its schema with a JSON object or a code': {
        make: () => node(async ({ text }) => ({ result: encodeURIComponent(String(text)) })),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => node(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
