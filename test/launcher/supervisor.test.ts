import { join } from 'node:path';
import { expect } from 'chai';
import { type Running, run } from './process.js';
import { createProject, type Project } from './project.js';

describe('the launcher while the server runs', () => {
  let project: Project;
  before(async () => {
    project = createProject();
    await start('exit', '0').ended;
  });
  after(() => project.remove());

  let count = 0;
  /** Uses a new data directory, because the next start on the same one reports a crash. */
  function start(...args: string[]): Running {
    count += 1;
    return startOn(`data-${count}`, ...args);
  }

  function startOn(dataDir: string, ...args: string[]): Running {
    return run(process.execPath, [join(project.root, 'scripts', 'start.mjs'), ...args], {
      cwd: project.root,
      env: { ...process.env, MORTISE_DATA_DIR: dataDir },
    });
  }

  it('passes on the arguments and the exit code, and marks the server as supervised', async () => {
    const launcher = start('exit', '7', '--port', '9000');
    expect(await launcher.ended).to.deep.equal({ code: 7, signal: null });
    expect(launcher.lines('arguments')).to.deep.equal(['arguments exit 7 --port 9000']);
    expect(launcher.lines('up')).to.have.length(1);
    expect(launcher.lines('up')[0]).to.match(/supervised 1 crashed -$/);
    expect(launcher.errors()).to.equal('');
  });

  it('reports a server that was killed as 128 + signal, and does not restart it', async () => {
    const launcher = start('crash', 'SIGKILL');
    expect(await launcher.ended).to.deep.equal({ code: 137, signal: null });
    expect(launcher.lines('up')).to.have.length(1);
    expect(launcher.errors()).to.match(/killed by SIGKILL.* not started again/);
    expect(launcher.errors().trim().split('\n')).to.have.length(1);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`forwards ${signal} once, however often it arrives within a second`, async () => {
      const launcher = start('serve', '0');
      await launcher.line('up');
      for (let count = 0; count < 5; count++) launcher.child.kill(signal);
      await launcher.line(`signal ${signal}`);
      for (let count = 0; count < 5; count++) launcher.child.kill(signal);
      launcher.closeInput();
      expect(await launcher.ended).to.deep.equal({ code: 0, signal: null });
      expect(launcher.lines('signal')).to.deep.equal([`signal ${signal}`]);
    });
  }

  it('forwards a second signal when the first is more than a second old', async () => {
    const launcher = start('serve', '0');
    await launcher.line('up');
    const startedAt = Date.now();
    const again = setInterval(() => launcher.child.kill('SIGTERM'), 50);
    try {
      await launcher.line('signal SIGTERM', 2);
    } finally {
      clearInterval(again);
    }
    expect(Date.now() - startedAt).to.be.within(1_000, 30_000);
    launcher.closeInput();
    expect((await launcher.ended).code).to.equal(0);
  });

  it('keeps the server out of its process group and drains it once when a Ctrl-C hits npm and the launcher', async () => {
    const windows = process.platform === 'win32';
    const npm = run(windows ? 'npm.cmd' : 'npm', ['start', '--silent', '--', 'serve', '0'], {
      cwd: project.root,
      detached: true,
      shell: windows,
    });
    await npm.line('up');
    // SIGWINCH shows whether the server is in the group, because the launcher does not forward it.
    process.kill(-Number(npm.child.pid), 'SIGWINCH');
    process.kill(-Number(npm.child.pid), 'SIGINT');
    await npm.line('signal SIGINT');
    npm.closeInput();
    expect(await npm.ended).to.deep.equal({ code: 0, signal: null });
    expect(npm.lines('signal')).to.deep.equal(['signal SIGINT']);
  });

  it('notifies the server when the launcher is killed', async () => {
    const launcher = start('serve', '0');
    await launcher.line('up');
    launcher.child.kill('SIGKILL');
    await launcher.line('disconnect');
    expect((await launcher.ended).signal).to.equal('SIGKILL');
  });

  it('restarts the server on its request, and logs the reason', async () => {
    const launcher = start('exit-first', '75');
    expect(await launcher.line('up', 2)).to.match(/supervised 1 crashed 1$/);
    expect(launcher.errors()).to.match(/ended with code 75: .*; starting it again \(1 of 3/);
    launcher.closeInput();
    expect((await launcher.ended).code).to.equal(0);
  });

  it('gives up after three restarts that end the same way, and reports it', async () => {
    const launcher = start('exit', '75');
    expect((await launcher.ended).code).to.equal(75);
    expect(launcher.lines('up')).to.have.length(4);
    expect(launcher.errors().trim().split('\n').at(-1)).to.match(/after 3 restarts .* not started again .*--safe/);
  });

  it('restarts a server that crashed three times, then gives up with the code of the crash', async () => {
    const launcher = start('crash', 'SIGSEGV');
    expect((await launcher.ended).code).to.equal(139);
    expect(launcher.lines('up')).to.have.length(4);
  });

  it('keeps supervising the server when its output is no longer read', async () => {
    const launcher = start('crash', 'SIGSEGV');
    launcher.child.stderr?.destroy();
    expect((await launcher.ended).code).to.equal(139);
    expect(launcher.lines('up')).to.have.length(4);
  });

  it('reports a crash to the next start on the same data directory, once', async () => {
    await startOn('crashed', 'exit', '75').ended;
    const elsewhere = startOn('elsewhere', 'exit', '0');
    await elsewhere.ended;
    expect(elsewhere.lines('up')[0]).to.match(/crashed -$/);
    for (const expected of [/crashed 1$/, /crashed -$/]) {
      const next = startOn('crashed', 'exit', '0');
      await next.ended;
      expect(next.lines('up')[0]).to.match(expected);
    }
  });

  it('reports nothing to the next start about a server that was killed', async () => {
    await startOn('killed', 'crash', 'SIGKILL').ended;
    const next = startOn('killed', 'exit', '0');
    await next.ended;
    expect(next.lines('up')[0]).to.match(/crashed -$/);
  });

  it('does not restart a server that was asked to stop', async () => {
    const launcher = start('serve', '75');
    await launcher.line('up');
    launcher.child.kill('SIGTERM');
    await launcher.line('signal SIGTERM');
    launcher.closeInput();
    expect((await launcher.ended).code).to.equal(75);
    expect(launcher.lines('up')).to.have.length(1);
  });

  it('is what `mortise start` and `mortise app start` run; other commands go to the command line', async () => {
    const mortise = (...args: string[]) =>
      run(process.execPath, [join(project.root, 'bin', 'mortise.mjs'), ...args], { cwd: '/' });
    for (const words of [['start'], ['app', 'start']]) {
      const server = mortise(...words, 'exit', '5');
      expect((await server.ended).code).to.equal(5);
      expect(server.lines('arguments')).to.deep.equal(['arguments exit 5 --connect']);
    }
    const command = mortise('plugin', 'list', '--json');
    expect((await command.ended).code).to.equal(4);
    expect(command.text()).to.equal('command plugin list --json\n');
  });
});
