import { spawn } from 'node:child_process';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type ServerProcess, startServer, temporaryFolder } from 'mortise/sdk/testing';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');
/** Another user, because root may access every file. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });
}

describe('a start with unusable files', () => {
  let folder: string;

  beforeEach(async () => {
    folder = temporaryFolder('refused');
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'config'));
    await writeFile(join(folder, 'plugins.json'), '{"version":1,"plugins":{}}');
  });
  afterEach(async () => {
    for (const name of await readdir(folder)) await chmod(join(folder, name), 0o755);
  });

  function start(dataDir: string): Promise<{ readonly code: number | null; readonly errors: string }> {
    const child = spawn(process.execPath, [join(projectDir, 'dist', 'core', 'main.js')], {
      ...unprivileged,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH,
        MORTISE_CONFIG_DIR: join(folder, 'config'),
        MORTISE_PLUGINS_FILE: join(folder, 'plugins.json'),
        MORTISE_PORT: '0',
        MORTISE_DATA_DIR: dataDir,
      },
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    return new Promise((done) => child.once('close', (code) => done({ code, errors })));
  }

  it('reports that this user may not create the data directory', async () => {
    await mkdir(join(folder, 'locked'), { mode: 0o555 });
    await expectRefusal(join(folder, 'locked', 'data'), /data directory .* may not write there\.\n.*MORTISE_DATA_DIR/);
  });

  for (const [what, name] of [
    ['is a file', 'file'],
    ['is below a file', 'file/data'],
  ] as const)
    it(`reports that the data directory ${what}`, async () => {
      await writeFile(join(folder, 'file'), '');
      await expectRefusal(join(folder, name), /data directory .* file(?: has that name)?\.\n.*MORTISE_DATA_DIR/);
    });

  it('reports that no folder can be created there', async function proc() {
    // Node's recursive mkdir never returns there.
    if (process.platform !== 'linux') this.skip();
    await expectRefusal('/proc/nope/data', /data directory .* no folder can be made there\.\n.*MORTISE_DATA_DIR/);
  });

  it('reports that the database file is read-only', async () => {
    const data = join(folder, 'data');
    const server = await startServer({ folder, plugins: { version: 1, plugins: {} } });
    expect(await server.end()).to.equal(0);
    await chmod(join(data, 'mortise.db'), 0o444);
    await chmod(data, 0o777);
    await expectRefusal(data, /database file .*mortise\.db cannot be used: .*readonly.*\.\n.*writable/);
  });

  async function expectRefusal(dataDir: string, wanted: RegExp): Promise<void> {
    const { code, errors } = await start(dataDir);
    expect(errors).to.match(wanted);
    expect(errors, 'no stack').to.not.match(/^\s+at /m);
    expect(code).to.equal(1);
  }

  it('names the plugin that took the port', async () => {
    const port = await freePort();
    const plugin = join(folder, 'plugins', 'takes-port');
    await mkdir(plugin, { recursive: true });
    const manifest = { manifestVersion: 1, key: 'takes-port', version: '1.0.0', title: 'Takes', summary: 'A port.' };
    await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
    await writeFile(join(plugin, 'package.json'), '{"type":"module"}');
    await writeFile(
      join(plugin, 'index.js'),
      `import { createServer } from 'node:http';
      export default () => ({
        key: 'takes-port',
        register() {},
        start: () => new Promise((done) => createServer().listen(${port}, '127.0.0.1', done)),
      });`,
    );
    const plugins = { version: 1, plugins: { 'takes-port': { enabled: true } } };
    const failed = await startServer({ folder, plugins, env: { MORTISE_PORT: `${port}` } }).catch(
      (error: unknown) => error,
    );
    expect(String(failed)).to.match(/ended with 1 /);
    expect(String(failed)).to.match(
      new RegExp(`The plugin takes-port listens on port ${port}, .*\n.*plugin disable takes-port`),
    );
  });

  it('warns that the configured plugins file does not exist', async () => {
    let server: ServerProcess | undefined;
    try {
      server = await startServer({ env: { MORTISE_PLUGINS_FILE: join(folder, 'gone.json') } });
      expect(server.output()).to.match(
        /gone\.json does not exist, and MORTISE_PLUGINS_FILE names it\. No plugin is enabled\./,
      );
    } finally {
      await server?.dispose();
    }
  });
});
