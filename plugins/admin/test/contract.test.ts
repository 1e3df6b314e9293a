import { createTestHost, routeContract } from 'mortise/sdk/testing';

const apiKey = 'an-api-key-0123456789';
const adminKey = 'an-admin-key-0123456789';
const common = {
  host: () =>
    createTestHost({
      plugins: ['admin', 'logbook', 'provider-demo'],
      env: { MORTISE_API_KEY: apiKey, GOVERNANCE_ADMIN_KEY: adminKey },
    }),
  headers: { 'x-api-key': apiKey, 'x-admin-key': adminKey },
};

routeContract('the list of plugins', {
  ...common,
  key: 'plugin-list',
  auth: 'key',
  changing: ['since'],
  samples: [{ path: '/admin/plugins', status: 200 }],
});

routeContract('the plan', {
  ...common,
  key: 'plugin-plan',
  auth: 'key',
  samples: [
    { path: '/admin/plugins/plan', body: { changes: [{ key: 'provider-demo', enabled: false }] }, status: 200 },
    { path: '/admin/plugins/plan', body: {}, status: 400 },
  ],
});

routeContract('the restart of a plugin', {
  ...common,
  key: 'plugin-restart',
  auth: 'admin',
  changing: ['since'],
  samples: [
    { path: '/admin/plugins/provider-demo/restart', body: {}, status: 200 },
    { path: '/admin/plugins/nobody/restart', body: {}, status: 404 },
  ],
});
