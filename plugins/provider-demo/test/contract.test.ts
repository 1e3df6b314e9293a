import { createTestHost, providerContract } from 'mortise/sdk/testing';

providerContract('the demo provider', {
  host: () => createTestHost({ plugins: ['provider-demo'] }),
  key: 'demo',
});
