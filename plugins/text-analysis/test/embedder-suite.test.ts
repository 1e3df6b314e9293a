import type { Embedder } from 'mortise/contracts/text-analysis';
import { embedderSuite } from 'mortise/contracts/text-analysis/testing';
import { MortiseError } from 'mortise/sdk';
import { testSuite, wait, waitFor } from 'mortise/sdk/testing';

const vectorOf = (text: string): Float32Array =>
  Float32Array.from([0, 1, 2, 3], (shift) => [...text].filter((_, index) => index % 4 === shift).length / 100);

const good: Embedder['embed'] = async (texts, { signal }) => {
  if (texts.length > 400) await waitFor(3_000, signal);
  return texts.map(vectorOf);
};

const embedder = (embed: Embedder['embed'] = good, more: Partial<Embedder> = {}): Embedder => ({
  dimensions: 4,
  version: '1',
  embed,
  ...more,
});

let calls = 0;
let busy = 0;
let started = 0;

testSuite(
  { ...embedderSuite, point: 'embedder' },
  {
    plugins: ['text-analysis'],
    good: { make: () => embedder() },
    subject: {},
    bad: {
      'is there under its key, with facts that fit its extension point': {
        make: () => embedder(good, { dimensions: 0 }),
      },
      'gives one vector of its dimensions for each text, and none for none': {
        make: () => embedder(good, { dimensions: 5 }),
      },
      'keeps the order of the texts, and gives a text the vector it has alone': {
        make: () => embedder(async (texts) => texts.map(vectorOf).toReversed()),
      },
      'answers the same call alike, whatever was called in between': {
        make: () => embedder(async (texts) => texts.map(() => new Float32Array(4).fill(calls++))),
      },
      'serves 20 calls side by side': {
        make: () =>
          embedder(async (texts) => {
            busy += 1;
            await wait(1);
            busy -= 1;
            if (busy > 0) throw new MortiseError('embedder_busy', 'One at a time.');
            return texts.map(vectorOf);
          }),
      },
      'ends its work when it is told to': {
        make: () =>
          embedder(async (texts) => {
            await wait(700);
            return texts.map(vectorOf);
          }),
      },
      'embeds hostile texts, or refuses them with a code': {
        make: () => embedder(async (texts) => texts.map((text) => vectorOf(decodeURIComponent(text)))),
      },
      'writes no text of people into the log': {
        make: (host) =>
          embedder(async (texts) => {
            host.log.debug(`embeds ${texts.join()}`);
            return texts.map(vectorOf);
          }),
      },
      'is gone when its plugin is disabled, and works again when it is enabled': {
        make: () => embedder(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('the model is already loaded');
        },
      },
    },
  },
);
