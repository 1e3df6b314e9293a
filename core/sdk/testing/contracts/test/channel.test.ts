import { MortiseError } from '../../../errors.js';
import type { Channel } from '../../../points/channel.js';
import { channelSuite } from '../channel.js';
import { testSuite, wait, waitFor } from '../suite-samples.js';

const channel = (sendText: Channel['sendText'] = good, more: Partial<Channel> = {}): Channel => ({ sendText, ...more });

const good: Channel['sendText'] = async ({ config }, { signal }) => {
  if (config.url === 'broken') throw new MortiseError('channel_refused', 'The platform refused the text.');
  if (config.url === 'slow') await waitFor(3_000, signal);
};

const sent = new Set<string>();
let busy = 0;
let started = 0;

testSuite(
  { ...channelSuite, point: 'channel' },
  {
    good: { make: () => channel() },
    subject: { config: {}, failing: [{ url: 'broken' }], slow: { url: 'slow' } },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => channel(good, { title: 'x'.repeat(200) }),
      },
      'resolves when a text is accepted, also for a repeated delivery': {
        make: () =>
          channel(async ({ deliveryId }) => {
            if (sent.has(deliveryId)) throw new MortiseError('channel_repeated', 'It was sent already.');
            sent.add(deliveryId);
          }),
      },
      'serves 20 concurrent calls': {
        make: () =>
          channel(async () => {
            busy += 1;
            await wait(1);
            busy -= 1;
            if (busy > 0) throw new MortiseError('channel_busy', 'One at a time.');
          }),
      },
      'stops its work when its signal is aborted': { make: () => channel(() => wait(700)) },
      'rejects with a code when a text is not accepted': { make: () => channel(async () => undefined) },
      'sends hostile texts or rejects them with a code': {
        make: () =>
          channel(async ({ text }) => {
            encodeURIComponent(text);
          }),
      },
      'does not log message text': {
        make: (host) => channel(async ({ text }) => host.log.info(`sent ${text}`)),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => channel(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already connected');
        },
      },
    },
  },
);
