import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { PluginRow } from 'mortise/sdk';
import { childEnvironment, type ServerProcess, startServer, temporaryFolder, until } from 'mortise/sdk/testing';
import { type Ended, endedWith } from '../../core/cli/test/run-cli.js';
import { commandLine } from './command-line.js';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The lines of the first block of shell commands. */
async function commandsOf(plugin: string): Promise<readonly string[]> {
  const text = await readFile(join(project, 'plugins', plugin, 'README.md'), 'utf8');
  return (/```sh\n([\s\S]*?)```/.exec(text)?.[1] ?? '').trim().split('\n');
}

describe('the first commands of each README', function () {
  this.timeout(120_000);
  let server: ServerProcess;
  let folder: string;

  before(async () => {
    const plugins = JSON.parse(await readFile(join(project, 'plugins.json'), 'utf8')) as object;
    server = await startServer({ plugins });
    await until('the plugins', async () => {
      const listed = (await (await server.fetch('/admin/plugins')).json()) as { plugins: readonly PluginRow[] };
      return listed.plugins.every(({ desired, state }) => desired !== 'enabled' || state === 'active');
    });
    folder = temporaryFolder('readme');
    await mkdir(folder, { recursive: true });
    const line = [process.execPath, ...commandLine(server.origin, [])].map((word) => `'${word}'`).join(' ');
    await writeFile(join(folder, 'mortise'), `#!/bin/sh\nexec ${line} "$@"\n`, { mode: 0o755 });
  });
  after(() => server.dispose());

  const run = (line: string): Promise<Ended> =>
    new Promise((done) => {
      const env = { ...childEnvironment(), PATH: `${folder}${delimiter}${process.env.PATH}` };
      const child = execFile('sh', ['-c', line], { cwd: folder, env }, (error, stdout, stderr) =>
        done(endedWith(error ? Number(child.exitCode ?? -1) : 0, stdout, stderr)),
      );
    });

  for (const plugin of ['self-ops', 'workspace']) {
    it(`work on a new installation: ${plugin}`, async () => {
      const lines = await commandsOf(plugin);
      expect(lines).to.have.length.above(3);
      let last = '';
      for (const line of lines) {
        // Arguments of a command may come from the output of the previous one.
        const printed = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(last)?.[1] ?? '…';
        const typed = line
          .replace('mutation-…', printed('mutation_id'))
          .replace('"confirm_hash":"…"', `"confirm_hash":"${printed('confirm_hash')}"`);
        const { code, stdout, stderr } = await run(typed);
        expect([code, stderr], typed).to.deep.equal([0, '']);
        last = stdout;
      }
    });
  }
});
