import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const manifest = {
  manifestVersion: 1,
  key: 'sink',
  version: '1.0.0',
  title: 'Sink',
  summary: 'Sends memories in batches to a server that stores none.',
  contributes: {
    'memory-backend': [
      {
        key: 'sink',
        facts: { capabilities: { transactional: false, readBack: false, list: false, idempotent: false } },
      },
    ],
  },
};

const code = (origin: string) => `
async function ask(path, body) {
  const response = await fetch('${origin}' + path, { method: 'POST', body: JSON.stringify(body) });
  return response.json();
}

export default () => ({
  key: 'sink',
  register(host) {
    host.contribute('memory-backend', 'sink', {
      ...host.facts('memory-backend', 'sink'),
      store: async (item) => ({ id: (await ask('/memory/add', item)).id }),
      storeMany: async (items) => (await ask('/many', items)).ids.map((id) => ({ id })),
      search: async () => ({ hits: [] }),
      health: async () => ({ ok: true, detail: 'ready' }),
    });
  },
});
`;

/** Writes a backend plugin with batch requests into a plugins folder. */
export async function dropSinkPlugin(pluginsDir: string, origin: string): Promise<void> {
  const folder = join(pluginsDir, 'sink');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'index.js'), code(origin));
}
