import { channelContract, createTestHost } from 'mortise/sdk/testing';
import { FakeQq, silence, status } from './fake-qq.js';

const platform = await new FakeQq().open();
const slow = await new FakeQq().open();
slow.script.token.push(...Array.from({ length: 100 }, () => silence));
const broken = await new FakeQq().open();
broken.script.message.push(...Array.from({ length: 100 }, () => status(500, { code: 1 })));

after(() => Promise.all([platform, slow, broken].map((one) => one.close())));

channelContract('the QQ channel', {
  host: () => createTestHost({ plugins: ['channel-qq', 'provider-demo'] }),
  key: 'qq',
  config: platform.config,
  failing: [
    {},
    { ...platform.config, api_base: 'ftp://example.com' },
    { ...platform.config, client_secret: 'wrong' },
    { ...platform.config, target_type: 'group' },
    { ...platform.config, target_type: 'sms' },
    broken.config,
  ],
  slow: { ...slow.config, timeout_seconds: 30 },
});
