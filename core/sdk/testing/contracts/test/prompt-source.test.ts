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
      'is there under its key, with facts that fit its extension point': { make: () => source(good, { summary: '' }) },
      'builds system layers with a name, a source that is no path of the machine, and a text': {
        make: () => source(async () => layer('Be kind.', '/home/me/prompt.md')),
      },
      'answers the same call alike, whatever was called in between': {
        make: () => source(async () => layer(`call ${calls++}`)),
      },
      'serves 20 calls side by side': {
        make: () =>
          source(async () => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return layer(together > 1 ? 'busy' : 'free');
          }),
      },
      'ends its work when it is told to': {
        make: () =>
          source(async () => {
            await wait(700);
            return layer('late');
          }),
      },
      'fails with a code': { make: () => source(async () => layer('never fails')) },
      'builds layers for hostile requests, or refuses them with a code': {
        make: () => source(async ({ modelSlug = '' }) => layer(decodeURIComponent(modelSlug))),
      },
      'writes no text of people into the log': {
        make: (host) =>
          source(async ({ userText }) => {
            host.log.info(`asked ${userText}`);
            return layer('x');
          }),
      },
      'is gone when its plugin is disabled, and works again when it is enabled': {
        make: () => source(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
