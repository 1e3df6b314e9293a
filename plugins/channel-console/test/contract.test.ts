import { channelContract, createTestHost } from 'mortise/sdk/testing';

channelContract('the console channel', {
  host: () => createTestHost({ plugins: ['channel-console'] }),
  key: 'console',
});
