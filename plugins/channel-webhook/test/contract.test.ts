import { channelContract, createTestHost } from 'mortise/sdk/testing';
import { Receiver, silence, status } from './receiver.js';

const receiver = await new Receiver().open();
const slow = await new Receiver().open();
slow.script.push(...Array.from({ length: 100 }, () => silence));
const broken = await new Receiver().open();
broken.script.push(...Array.from({ length: 100 }, () => status(500)));

after(() => Promise.all([receiver, slow, broken].map((one) => one.close())));

channelContract('the webhook channel', {
  host: () => createTestHost({ plugins: ['channel-webhook'] }),
  key: 'webhook',
  config: { enabled: true, url: receiver.url },
  failing: [{}, { url: 'ftp://example.com' }, { url: broken.url }],
  slow: { url: slow.url, timeout_seconds: 30 },
});
