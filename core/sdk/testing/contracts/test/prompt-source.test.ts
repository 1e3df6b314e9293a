import { MortiseError } from '../../../errors.js';
import type { PromptSource } from '../../../points/prompt-source.js';
import { promptSourceSuite } from '../prompt-source.js';
import { testSuite, wait } from '../suite-samples.js';

const layer = (content: string, source = 'runtime://contract') => [
  { name: 'base', role: 'system' as const, source, content },
];

const good: PromptSource['build'] = async ({ promptMode }) => {
  if (promptMode === 'missing') throw new MortiseError('base_prompt_unavailable', 'There is no such file.');
  return layer('Be kind.');
};

const source = (build: PromptSource['build'] = good, more: Partial<PromptSource> = {}): PromptSource => ({
  summary: 'A base.',
  order: 10,
  required: false,
  build,
  ...more,
});

let calls = 0;
let busy = 0;
let started = 0;

testSuite(
  { ...promptSourceSuite, point: 'prompt-source' },
  {
    good: { make: () => source() },
    subject: { failing: [{ promptMode: 'missing' }] },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => source(good, { summary: '' }),
      },
      'builds system layers with a name, a text and a source that is not a local path': {
        make: () => source(async () => layer('Be kind.', '/home/me/prompt.md')),
      },
      'returns the same result for the same call, regardless of calls in between': {
        make: () => source(async () => layer(`call ${calls++}`)),
      },
      'serves 20 concurrent calls': {
        make: () =>
          source(async () => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return layer(together > 1 ? 'busy' : 'free');
          }),
      },
      'stops its work when its signal is aborted': {
        make: () =>
          source(async () => {
            await wait(700);
            return layer('late');
          }),
      },
      'fails with a code': { make: () => source(async () => layer('never fails')) },
      'builds layers for hostile requests or rejects them with a code': {
        make: () => source(async ({ modelSlug = '' }) => layer(decodeURIComponent(modelSlug))),
      },
      'does not log message text': {
        make: (host) =>
          source(async ({ userText }) => {
            host.log.info(`asked ${userText}`);
            return layer('x');
          }),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => source(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
