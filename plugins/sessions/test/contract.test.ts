import { createTestHost, routeContract } from 'mortise/sdk/testing';

const apiKey = 'an-api-key-0123456789';
const common = {
  host: () => createTestHost({ plugins: ['sessions'], env: { MORTISE_API_KEY: apiKey } }),
  headers: { 'x-api-key': apiKey },
  auth: 'key',
} as const;

routeContract('the list of chats', {
  ...common,
  key: 'list-chats',
  samples: [
    { path: '/chats', status: 200 },
    { path: '/chats?limit=1', status: 200 },
  ],
});

routeContract('a new chat', {
  ...common,
  key: 'save-chat',
  repeatable: false,
  samples: [
    { path: '/chats', body: { name: 'One', session_id: 's', user_id: 'u', channel: 'console' }, status: 200 },
    { path: '/chats', body: {}, status: 400 },
  ],
});
