import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startServer, until } from 'mortise/sdk/testing';

describe('a plugin that starts slowly', () => {
  let folder: string;
  let child: ChildProcess | undefined;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mortise-slow-'));
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps the others from answering for two seconds at most, and the log shows when it has started', async () => {
    const own = join(folder, 'plugins', 'slow');
    const sign = join(folder, 'may-start');
    await mkdir(own, { recursive: true });
    const facts = { title: 'Slow', summary: 'Starts slowly.', version: '1.0.0', entry: 'index.mjs' };
    await writeFile(join(own, 'plugin.json'), JSON.stringify({ manifestVersion: 1, key: 'slow', ...facts }));
    await writeFile(
      join(own, 'index.mjs'),
      `import { existsSync } from 'node:fs';
      export default () => ({
        key: 'slow',
        async start() {
          while (!existsSync(${JSON.stringify(sign)})) await new Promise((next) => setTimeout(next, 20));
        },
      });`,
    );
    let output = '';
    const starting = startServer({
      folder,
      plugins: { version: 1, plugins: { slow: { enabled: true } } },
      onSpawn: (spawned) => {
        child = spawned;
        child.stderr?.on('data', (text: string) => (output += text));
      },
    });
    await until('it listens', () => output.includes('listens on'));
    const origin = /listens on (http:\/\/[^\s"]+)/.exec(output)?.[1];
    expect(await (await fetch(`${origin}/ready`)).json()).to.deep.equal({ ready: true });
    expect(output).to.include('"starting":1').and.not.include('the other plugins have started');
    await writeFile(sign, '');
    const server = await starting;
    expect(server.output()).to.include('the other plugins have started');
    await server.dispose();
  });
});
