import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const manifest = {
  manifestVersion: 1,
  key: 'chaos-sink',
  version: '0.0.0',
  title: 'Chaos sink',
  summary: 'Writes a journal of its deliveries.',
  entry: 'index.js',
  contributes: { channel: ['chaos-sink'] },
};

/** Appends before and after its effect; it is occasionally slow, so that kills interrupt runs. */
const code = `import { appendFileSync } from 'node:fs';
export default () => ({
  key: 'chaos-sink',
  register(host) {
    host.contribute('channel', 'chaos-sink', {
      async sendText({ deliveryId }, { signal }) {
        appendFileSync(JOURNAL, 'begin ' + deliveryId + '\\n');
        const ms = Math.random() < 0.1 ? 1500 : Math.random() * 30;
        await new Promise((resolve) => setTimeout(resolve, ms));
        signal.throwIfAborted();
        appendFileSync(JOURNAL, 'sent ' + deliveryId + '\\n');
      },
    });
  },
});`;

/** Drops the channel into the plugins of a server's folder. */
export async function installSink(folder: string, journal: string): Promise<void> {
  const plugin = join(folder, 'plugins', manifest.key);
  await mkdir(plugin, { recursive: true });
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'package.json'), '{"type":"module"}');
  await writeFile(join(plugin, 'index.js'), code.replaceAll('JOURNAL', JSON.stringify(journal)));
}
