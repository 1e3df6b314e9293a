import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { commandEnvironment, OutputBuffer } from 'mortise/contracts/tool-shell';
import { createTestHost, temporaryFolder } from 'mortise/sdk/testing';
import { findProgram, sandboxed } from '../command-line.js';

describe('output of a command', () => {
  it('is cut at a whole character, and empty once it was taken', () => {
    const output = new OutputBuffer(7);
    output.add(Buffer.from('abc'));
    output.add(Buffer.from('äöü'));
    expect(output.take()).to.equal('abcäö\n... (output truncated)');
    expect(output.isEmpty).to.equal(true);
    output.add(Buffer.from('öö'));
    expect(output.take(3)).to.equal('ö\n... (output truncated)');
    output.add(Buffer.from('x'));
    expect(output.take()).to.equal('x');
  });
});

describe('the environment of a command', () => {
  it('has no secrets of the process, whatever they are named', () => {
    const secrets = [
      'GH_PAT',
      'MYSQL_PWD',
      'BASIC_AUTH',
      'JWT',
      'DOCKER_AUTH_CONFIG',
      'AWS_SECRET_ACCESS_KEY',
      'PGPASSWORD',
    ];
    const kept = {
      PATH: '/bin',
      PWD: '/w',
      SSH_AUTH_SOCK: '/s',
      REDIS_URL: 'redis://cache:6379/0',
      HTTP_PROXY: 'http://u:p@proxy',
    };
    const own = {
      ...kept,
      ...Object.fromEntries(secrets.map((name) => [name, 'x'])),
      QUEUE_URL: 'amqp://user:pass@host/queue',
      CACHE_URL: 'redis://:pass@host',
    };
    expect(commandEnvironment(own, {})).to.deep.equal({ TERM: 'dumb', ...kept });
  });
});

describe('the sandbox', () => {
  it("leaves the workspace writable and the platform's files empty", () => {
    const folders = ['/w', '/w/data', '/w/plugins', '/w/data/skills'];
    const isFolder = (path: string) => (path === '/w/.env' ? false : folders.includes(path) || undefined);
    const guarded = { hidden: ['/w/data', '/w/.env', '/missing'], readOnly: ['/w/plugins'] };
    const shown = { workspace: '/w', guarded, readable: ['/w/data/skills', '/w/data/uploads'] };
    const { file, args } = sandboxed(
      '/usr/bin/bwrap',
      { file: '/bin/sh', args: ['-c', 'x'] },
      '/w/sub',
      shown,
      isFolder,
    );
    expect(file).to.equal('/usr/bin/bwrap');
    const line = args.join(' ');
    expect(line).to.contain('--unshare-pid').and.contain('--die-with-parent');
    expect(line.slice(line.indexOf('--bind'))).to.equal(
      [
        '--bind /w /w --ro-bind /w/plugins /w/plugins --tmpfs /w/data --ro-bind /dev/null /w/.env',
        '--ro-bind /w/data/skills /w/data/skills --chdir /w/sub -- /bin/sh -c x',
      ].join(' '),
    );
  });

  const bwrap = findProgram('bwrap', process.env.PATH);
  // Machines that forbid unprivileged namespaces may have the program, and cannot use it.
  const works = bwrap && spawnSync(bwrap, ['--unshare-pid', '--ro-bind', '/', '/', 'true']).status === 0;
  const itInSandbox = works ? it : () => undefined;

  itInSandbox('lets commands write to the workspace alone, and see no data directory and no process', async () => {
    const host = await createTestHost({
      plugins: ['agent', 'provider-demo', 'channel-console', 'tool-shell'],
      env: { MORTISE_SHELL_SANDBOX: 'bwrap' },
    });
    const outside = join(homedir(), `mortise-sandbox-${process.pid}`);
    const run = async (command: string) => {
      const response = await host.post('/agent/process', { session_id: 's', user_id: 'u', shell: [{ command }] });
      const { reply, error } = (await response.json()) as { reply?: string; error?: object };
      return reply?.split('\n').slice(1).join('\n') ?? JSON.stringify(error);
    };
    try {
      expect(await run('echo $((40 + 2)) > inside; cat inside')).to.equal('42');
      expect(await readFile(join(host.dataDir, 'inside'), 'utf8')).to.equal('42\n');
      expect(await run(`echo x > '${outside}'`)).to.match(/exited with code[\s\S]*Read-only file system/);
      expect(existsSync(outside)).to.equal(false);
      // What tests call the data directory is the workspace; the platform's own is `data` in it.
      expect(await readdir(join(host.dataDir, 'data'))).to.not.deep.equal([]);
      expect(await run('cat data/* 2> /dev/null; echo end')).to.equal('end');
      expect(await run(`kill -0 ${process.pid}`)).to.contain('exited with code');
    } finally {
      await host.stop();
      await rm(outside, { force: true });
    }
  });

  it('refuses every command while its program is missing', async () => {
    const path = process.env.PATH;
    const folder = temporaryFolder('shell-only');
    await symlink(findProgram('sh', path) ?? '/bin/sh', join(folder, 'sh'));
    process.env.PATH = folder;
    const host = await createTestHost({
      plugins: ['agent', 'provider-demo', 'channel-console', 'tool-shell'],
      env: { MORTISE_SHELL_SANDBOX: 'bwrap' },
    });
    try {
      const response = await host.post('/agent/process', {
        session_id: 's',
        user_id: 'u',
        shell: [{ command: 'true' }],
      });
      expect(response.status).to.equal(502);
      expect(((await response.json()) as { error: object }).error).to.include({
        code: 'tool_runtime_unavailable',
        message: 'the sandbox program bwrap is missing',
        hint: 'Install bubblewrap, or set MORTISE_SHELL_SANDBOX=off.',
      });
    } finally {
      process.env.PATH = path;
      await host.stop();
      await rm(folder, { recursive: true });
    }
  });
});
