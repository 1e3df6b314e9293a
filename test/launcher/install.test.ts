import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { load, type Npm } from './modules.js';
import { run } from './process.js';
import { createProject, type Project } from './project.js';

describe('the installation of the dependencies', () => {
  let project: Project;
  beforeEach(() => {
    project = createProject({ linked: false });
    project.write(
      'package-lock.json',
      JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.0' } } }),
    );
  });
  afterEach(() => project.remove());

  const calls: string[][] = [];
  const npm: Npm = async (args) => {
    calls.push(args);
    project.write('node_modules/a/package.json', '{}');
  };

  async function install(): Promise<readonly string[][]> {
    const { dependenciesCurrent, installDependencies } = await load('dependencies.mjs');
    calls.length = 0;
    if (!dependenciesCurrent(project.root)) {
      await installDependencies(project.root, npm, { node: process.execPath, step: (work) => work() });
    }
    return calls;
  }

  it('runs once per lockfile, without install scripts, with the compiler whatever the environment says', async () => {
    const [args] = await install();
    expect(args).to.include.members(['ci', '--ignore-scripts', '--include=dev']);
    expect(await install()).to.deep.equal([]);
    project.write(
      'package-lock.json',
      JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.1' } } }),
    );
    expect(await install()).to.have.length(1);
  });

  it('runs again when node_modules is missing', async () => {
    await install();
    rmSync(join(project.root, 'node_modules'), { recursive: true });
    expect(await install()).to.have.length(1);
  });

  it('runs again when node_modules was made for another machine', async () => {
    await install();
    const stamp = join(project.root, 'node_modules', '.mortise-installed.json');
    writeFileSync(stamp, readFileSync(stamp, 'utf8').replace(process.platform, 'plan9'));
    expect(await install()).to.have.length(1);
  });

  it('is skipped after a manual npm install of the same packages, but not of others', async () => {
    const byHand = (version: string) =>
      project.write('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/a': { version } } }));
    byHand('0.9.0');
    expect(await install()).to.have.length(1);
    rmSync(join(project.root, 'node_modules'), { recursive: true });
    byHand('1.0.0');
    project.write('node_modules/a/package.json', '{}');
    expect(await install()).to.deep.equal([]);
  });

  it('runs again when a package is missing, however it was installed', async () => {
    await install();
    rmSync(join(project.root, 'node_modules', 'a'), { recursive: true });
    expect(await install()).to.have.length(1);
  });

  it('replaces a link to a missing folder', async () => {
    symlinkSync(join(project.root, 'nowhere'), join(project.root, 'node_modules'));
    expect(await install()).to.have.length(1);
    expect(await install()).to.have.length(0);
  });
});

describe('the Node that the launcher provides', () => {
  let project: Project;
  beforeEach(() => {
    project = createProject({ linked: false });
  });
  afterEach(() => project.remove());

  /** Installs a program that reports the given Node version. */
  function npmThatBrings(version: string, calls: string[][] = []): Npm {
    return async (args) => {
      calls.push(args);
      const { runtimePackage } = await load('runtime.mjs');
      const { name, program } = runtimePackage(process.platform, process.arch);
      const path = join(project.root, '.runtime', 'node_modules', name, program);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `#!/bin/sh\necho ${version}\n`);
      chmodSync(path, 0o755);
    };
  }

  it('is not needed where the Node in use is new enough', async () => {
    const { findRuntime } = await load('runtime.mjs');
    expect(findRuntime(project.root, 'v22.14.0')).to.equal(process.execPath);
    expect(findRuntime(project.root, 'v20.20.2')).to.equal(undefined);
  });

  it('is installed once, outside node_modules, and found again', async () => {
    const { findRuntime, installRuntime } = await load('runtime.mjs');
    const calls: string[][] = [];
    const path = await installRuntime(project.root, npmThatBrings('v22.20.0', calls));
    expect(path.startsWith(join(project.root, '.runtime'))).to.equal(true);
    expect(calls[0]).to.include.members(['--no-save', '--ignore-scripts', '--prefix', join(project.root, '.runtime')]);
    expect(findRuntime(project.root, 'v20.20.2')).to.equal(path);
    expect(existsSync(join(project.root, 'node_modules'))).to.equal(false);
  });

  it('is reinstalled after a truncated download', async () => {
    const { findRuntime, installRuntime } = await load('runtime.mjs');
    const path = await installRuntime(project.root, npmThatBrings('v22.20.0'));
    rmSync(join(project.root, '.runtime'), { recursive: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'half a program');
    expect(findRuntime(project.root, 'v20.20.2')).to.equal(undefined);
    const calls: string[][] = [];
    expect(await installRuntime(project.root, npmThatBrings('v22.20.0', calls))).to.equal(path);
    expect(calls).to.have.length(1);
    writeFileSync(path, '');
    expect(findRuntime(project.root, 'v20.20.2')).to.equal(undefined);
    await installRuntime(project.root, npmThatBrings('v22.20.0', calls));
    expect(calls).to.have.length(2);
  });

  it('is refused with an explanation when it does not run on this machine', async () => {
    const { installRuntime } = await load('runtime.mjs');
    const failure = await installRuntime(project.root, async () => undefined).catch((error: Error) => error);
    expect(failure)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/does not run on this machine .* install Node 22/);
  });
});

describe("npm's cache", () => {
  it('is below .runtime where the home folder cannot be written, unless the environment names one', async () => {
    const { cacheOptions } = await load('npm.mjs');
    const project = createProject({ linked: false });
    try {
      // A file in place of the folder: root may write everywhere.
      project.write('no-home', '');
      const own = [`--cache=${join(project.root, '.runtime', 'npm-cache')}`];
      expect(cacheOptions(project.root, {}, join(project.root, 'no-home'))).to.deep.equal(own);
      expect(cacheOptions(project.root, { NPM_CONFIG_CACHE: '/cache' }, join(project.root, 'no-home'))).to.deep.equal(
        [],
      );
      expect(cacheOptions(project.root, {}, join(project.root, 'home'))).to.deep.equal([]);
    } finally {
      project.remove();
    }
  });
});

describe('a set-up that fails', () => {
  const messageFor = async (output: string) => {
    const { explain } = await load('npm.mjs');
    const context = { what: 'Node 22', log: 'setup.log', root: 'there' };
    return explain({ code: 1, signal: null, output }, context).message;
  };

  it('reports the cause and the fix in one sentence', async () => {
    const offline =
      'npm error code ENOTFOUND\nnpm error network request to the registry failed, reason: getaddrinfo ENOTFOUND';
    expect(await messageFor(offline)).to.match(/registry could not be reached \(ENOTFOUND\): check the network/);
    expect(await messageFor('npm ERR! code ECONNREFUSED\n')).to.match(/registry could not be reached \(ECONNREFUSED\)/);
    expect(await messageFor('npm error code SELF_SIGNED_CERT_IN_CHAIN')).to.match(/NODE_EXTRA_CA_CERTS/);
    expect(await messageFor('npm error code ENOSPC')).to.match(/disk is full: free/);
    expect(await messageFor('npm error code EACCES')).to.match(/folder there cannot be written by this user/);
    expect(await messageFor('npm error code EACCES\nnpm error path /home/x/.npm')).to.match(
      /folder \/home\/x\/.npm cannot/,
    );
    expect(await messageFor('npm error code EUSAGE\nnpm error `npm ci` can only')).to.match(/run "npm install"/);
    expect(await messageFor('npm error code EWHAT\nnpm error A thing broke')).to.match(
      /\(A thing broke\): read setup\.log/,
    );
    expect(await messageFor('')).to.match(/\(npm ended with 1\)/);
  });

  it('ends the start with code 1 and that sentence, and releases the lock', async () => {
    const project = createProject({ linked: false });
    try {
      project.write('offline/npm-cli.js', `console.error('npm error code ECONNREFUSED'); process.exitCode = 1;\n`);
      project.write('offline/package.json', '{ "type": "commonjs" }');
      const launcher = run(process.execPath, [join(project.root, 'scripts/start.mjs')], {
        cwd: project.root,
        env: { ...process.env, npm_execpath: join(project.root, 'offline/npm-cli.js') },
      });
      expect((await launcher.ended).code).to.equal(1);
      expect(launcher.errors().trim().split('\n').at(-1)).to.match(
        /^mortise: The dependencies could not be downloaded because the npm registry could not be reached \(ECONNREFUSED\): .*again\.$/,
      );
      expect(existsSync(join(project.root, '.runtime/setup.lock'))).to.equal(false);
      expect(launcher.lines('up')).to.deep.equal([]);
    } finally {
      project.remove();
    }
  });

  it('is ended by a signal together with npm, and leaves no lock', async () => {
    const project = createProject({ linked: false });
    try {
      project.write(
        'slow/npm-cli.js',
        `require('node:fs').writeFileSync('npm-pid', String(process.pid)); setInterval(() => {}, 1000);\n`,
      );
      project.write('slow/package.json', '{ "type": "commonjs" }');
      const launcher = run(process.execPath, [join(project.root, 'scripts/start.mjs')], {
        cwd: project.root,
        env: { ...process.env, npm_execpath: join(project.root, 'slow/npm-cli.js') },
      });
      const note = join(project.root, 'npm-pid');
      while (!existsSync(note) || readFileSync(note, 'utf8') === '')
        await new Promise((resolve) => setTimeout(resolve, 10));
      launcher.child.kill('SIGTERM');
      expect((await launcher.ended).code).to.equal(143);
      expect(() => process.kill(Number(readFileSync(note, 'utf8')), 0)).to.throw(/ESRCH/);
      expect(existsSync(join(project.root, '.runtime/setup.lock'))).to.equal(false);
    } finally {
      project.remove();
    }
  });
});
