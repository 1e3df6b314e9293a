import { createTestHost, toolContract } from 'mortise/sdk/testing';

toolContract('the tool shell', {
  host: () => createTestHost({ plugins: ['tool-shell'] }),
  key: 'shell',
  valid: [{ items: [{ command: 'echo harbour' }] }, { items: [{ command: 'exit 3' }] }],
  invalid: [{}, { items: [] }, { items: [{ cwd: '.' }] }],
  failing: [{ items: [{ command: 'true', cwd: '/etc' }] }],
  slow: { items: [{ command: 'sleep 30' }] },
  secretText: 'harbour',
  // Hostile values of a command would be run.
  keep: ['command'],
});
