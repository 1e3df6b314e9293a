import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestHost, type TestHost, toolContract } from 'mortise/sdk/testing';

async function open(): Promise<TestHost> {
  const host = await createTestHost({ plugins: ['tool-files'] });
  await mkdir(join(host.dataDir, 'notes'));
  await writeFile(join(host.dataDir, 'notes', 'a.txt'), 'harbour\n');
  return host;
}

toolContract('the tool find', {
  host: open,
  key: 'find',
  valid: [{ items: [{ path: 'notes', pattern: 'harbour' }] }, { items: [{ path: 'notes/a.txt', pattern: 'x' }] }],
  invalid: [{}, { items: [] }, { items: [{ path: 'notes' }] }],
  failing: [{ items: [{ path: '/nowhere', pattern: 'x' }] }],
  secretText: 'harbour',
});

toolContract('the tool Grep', {
  host: open,
  key: 'claude_grep',
  valid: [
    { pattern: 'harb.ur', path: 'notes' },
    { pattern: 'x', path: 'notes' },
  ],
  invalid: [{}, { pattern: 7 }],
  failing: [
    { pattern: '(', path: 'notes' },
    { pattern: 'x', path: '/etc' },
  ],
});

toolContract('the tool LS', {
  host: open,
  key: 'claude_ls',
  valid: [{ path: 'notes' }, { path: '.' }],
  invalid: [{}],
  failing: [{ path: 'none' }],
});
