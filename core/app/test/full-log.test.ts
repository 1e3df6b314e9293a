import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { nodeFlags, temporaryFolder, until } from 'mortise/sdk/testing';

const root = resolve(fileURLToPath(new URL('../../../..', import.meta.url)));
const full = '/dev/full';

const manifest = { manifestVersion: 1, key: 'prints', version: '1.0.0', title: 'Prints', summary: 'Prints.' };
const code = `export default () => ({
  key: 'prints',
  register() {},
  start() {
    process.stdout.write('to standard output\\n');
    process.stderr.write('to standard error\\n');
    console.log('again');
  },
});`;

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => found(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

if (existsSync(full)) {
  describe('a server whose log is on a full disk', () => {
    let folder: string;

    beforeEach(async () => {
      folder = temporaryFolder('full-log');
      await mkdir(join(folder, 'plugins', 'prints'), { recursive: true });
      await writeFile(join(folder, 'plugins', 'prints', 'plugin.json'), JSON.stringify(manifest));
      await writeFile(join(folder, 'plugins', 'prints', 'package.json'), '{"type":"module"}');
      await writeFile(join(folder, 'plugins', 'prints', 'index.js'), code);
      const plugins = { version: 1, plugins: { admin: { enabled: true }, prints: { enabled: true } } };
      await writeFile(join(folder, 'plugins.json'), JSON.stringify(plugins));
    });

    it('answers requests, counts the dropped lines, and exits cleanly', async () => {
      const port = await freePort();
      const log = openSync(full, 'w');
      const server = spawn(process.execPath, [...nodeFlags, join(root, 'dist', 'core', 'main.js')], {
        cwd: folder,
        stdio: ['ignore', log, log],
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          MORTISE_DATA_DIR: join(folder, 'data'),
          MORTISE_CONFIG_DIR: join(folder, 'config'),
          MORTISE_PLUGINS_DIR: join(folder, 'plugins'),
          MORTISE_PLUGINS_FILE: join(folder, 'plugins.json'),
          MORTISE_LOG_LEVEL: 'trace',
          MORTISE_PORT: String(port),
        },
      });
      closeSync(log);
      const ended = new Promise<number | string | null>((done) =>
        server.once('exit', (exitCode, signal) => done(exitCode ?? signal)),
      );
      let over: number | string | null | undefined;
      void ended.then((how) => {
        over = how;
      });
      try {
        const ask = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
        await until('the server listens', async () => {
          if (over !== undefined) throw new Error(`The server ended with ${over}.`);
          return ask('/healthz').then(
            (answer) => answer.ok,
            () => false,
          );
        });
        const metrics = await (await ask('/metrics')).text();
        expect(Number(/^mortise_log_lines_dropped (\d+)$/m.exec(metrics)?.[1])).to.be.greaterThan(0);
        const prints = await (await ask('/admin/plugins/prints')).json();
        expect(prints).to.include({ state: 'active', last_fault: null });
        server.kill('SIGTERM');
        expect(await ended).to.equal(0);
      } finally {
        server.kill('SIGKILL');
      }
    });
  });
}
