import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { childEnvironment, type ServerProcess, startServer, temporaryFolder, until } from 'mortise/sdk/testing';

const bin = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'bin', 'mortise.mjs');
const plugins = { version: 1, plugins: { admin: { enabled: true } } };

/** Runs the installed command; `stdout` grows while it runs. */
function launch(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [bin, ...args], { env: { ...childEnvironment(), ...env } });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
  return { child, output, ended };
}

describe('mortise app start', function () {
  this.timeout(120_000);
  let server: ServerProcess;
  before(async () => {
    server = await startServer({ plugins });
  });
  after(() => server.dispose());

  it('uses a running server, and reports it', async () => {
    const { origin } = server;
    for (const words of [['app', 'start'], ['start']]) {
      const { code, stdout } = await launch([...words, '--api-base', origin]).ended;
      expect({ code, stdout }).to.deep.equal({
        code: 0,
        stdout: `A Mortise server runs at ${origin} already; no other one was started.\n`,
      });
    }
    const scripted = await launch(['--json', 'app', 'start'], { MORTISE_API_BASE: origin }).ended;
    expect(scripted.code).to.equal(0);
    expect(JSON.parse(scripted.stdout)).to.deep.equal({ connected: true, url: origin });
  });

  it('starts a server when none is running, and prints its address', async () => {
    const folder = temporaryFolder('start');
    await mkdir(join(folder, 'config'), { recursive: true });
    await writeFile(join(folder, 'plugins.json'), JSON.stringify(plugins));
    const { child, output, ended } = launch(['app', 'start', '--json', '--port', '0'], {
      MORTISE_API_BASE: 'http://127.0.0.1:1',
      MORTISE_DATA_DIR: join(folder, 'data'),
      MORTISE_CONFIG_DIR: join(folder, 'config'),
      MORTISE_PLUGINS_FILE: join(folder, 'plugins.json'),
      MORTISE_PLUGINS_DIR: join(folder, 'plugins'),
      MORTISE_WORKSPACE_DIR: folder,
    });
    try {
      await until('the address', () => output.stdout.includes('\n'), 60_000);
      const { started, url } = JSON.parse(output.stdout) as { readonly started: boolean; readonly url: string };
      expect(started).to.equal(true);
      expect((await fetch(`${url}/healthz`)).status).to.equal(200);
    } finally {
      child.kill('SIGTERM');
    }
    expect((await ended).code).to.equal(0);
  });
});
