import type { Embedder } from 'mortise/contracts/text-analysis';
import { embedderSuite } from 'mortise/contracts/text-analysis/testing';
import { MortiseError } from 'mortise/sdk';
import { testSuite, wait, waitFor } from 'mortise/sdk/testing';

const vectorOf = (text: string): Float32Array =>
  Float32Array.from([0, 1, 2, 3], (shift) => [...text].filter((_, index) => index % 4 === shift).length / 100);

const good: Embedder['embed'] = async ({ texts }, { signal }) => {
  if (texts.length > 400) await waitFor(3_000, signal);
  return texts.map(vectorOf);
};

const embedder = (embed: Embedder['embed'] = good, more: Partial<Embedder> = {}): Embedder => ({
  dimensions: 4,
  model: '1',
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
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => embedder(good, { dimensions: 0 }),
      },
      'returns one vector of the declared dimensions per text, and none for an empty list': {
        make: () => embedder(good, { dimensions: 5 }),
      },
      'returns vectors in the order of the texts, independent of the other texts': {
        make: () => embedder(async ({ texts }) => texts.map(vectorOf).toReversed()),
      },
      'returns the same result for the same call, regardless of calls in between': {
        make: () => embedder(async ({ texts }) => texts.map(() => new Float32Array(4).fill(calls++))),
      },
      'serves 20 concurrent calls': {
        make: () =>
          embedder(async ({ texts }) => {
            busy += 1;
            await wait(1);
            busy -= 1;
            if (busy > 0) throw new MortiseError('embedder_busy', 'One at a time.');
            return texts.map(vectorOf);
          }),
      },
      'stops its work when its signal is aborted': {
        make: () =>
          embedder(async ({ texts }) => {
            await wait(700);
            return texts.map(vectorOf);
          }),
      },
      'embeds hostile texts or rejects them with a code': {
        make: () => embedder(async ({ texts }) => texts.map((text) => vectorOf(decodeURIComponent(text)))),
      },
      'does not log message text': {
        make: (host) =>
          embedder(async ({ texts }) => {
            host.log.debug(`embeds ${texts.join()}`);
            return texts.map(vectorOf);
          }),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => embedder(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('the model is already loaded');
        },
      },
    },
  },
);
