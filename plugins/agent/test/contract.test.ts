import { createTestHost, routeContract } from 'mortise/sdk/testing';

const apiKey = 'an-api-key-0123456789';
const say = (text: unknown, more: object = {}) => ({
  session_id: 'contract',
  user_id: 'me',
  input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
  ...more,
});

routeContract('POST /agent/process', {
  host: () =>
    createTestHost({
      plugins: ['agent', 'provider-demo', 'channel-console'],
      env: { MORTISE_API_KEY: apiKey },
    }),
  key: 'agent-process',
  headers: { 'x-api-key': apiKey },
  auth: 'key',
  // The demo repeats the whole conversation.
  repeatable: false,
  samples: [
    { path: '/agent/process', body: say('hello'), status: 200 },
    { path: '/agent/process', body: say('hello', { stream: true }), status: 200 },
    { path: '/agent/process', body: {}, status: 400 },
  ],
});
