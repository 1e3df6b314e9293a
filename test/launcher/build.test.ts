import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { load, type Progress } from './modules.js';
import { run } from './process.js';
import { createProject, type Project } from './project.js';

/** Records the steps that ran. */
function recorder(): { readonly steps: string[]; readonly progress: Progress } {
  const steps: string[] = [];
  return {
    steps,
    progress: {
      say: () => undefined,
      step(doing, work) {
        steps.push(doing);
        return work();
      },
    },
  };
}

describe('the build of the launcher', () => {
  let project: Project;
  beforeEach(() => {
    project = createProject();
    project.write('plugins/echo/index.ts', `export const echo = 'one';\n`);
    project.write('plugins/echo/test/echo.test.ts', `export const test = 'one';\n`);
  });
  afterEach(() => project.remove());

  const at = (path: string) => join(project.root, path);
  const built = (path: string) => readFileSync(at(`dist/${path}`), 'utf8');

  async function prepare(): Promise<{ readonly steps: readonly string[]; readonly errors: readonly string[] }> {
    const { prepare } = await load('prepare.mjs');
    const { steps, progress } = recorder();
    const { errors } = await prepare(project.root, { progress });
    return { steps, errors };
  }

  it('runs once, and again only when a source changes', async () => {
    expect((await prepare()).steps).to.deep.equal(['building']);
    expect(built('plugins/echo/index.js')).to.include('one');
    expect((await prepare()).steps).to.deep.equal([]);
    project.write('plugins/echo/index.ts', `export const echo = 'two';\n`);
    expect((await prepare()).steps).to.deep.equal(['building']);
    expect(built('plugins/echo/index.js')).to.include('two');
  });

  it('runs when the lockfile or the compiler settings change, and when a source is added', async () => {
    await prepare();
    for (const path of ['package-lock.json', 'tsconfig.json']) {
      project.write(path, `${readFileSync(at(path), 'utf8')}\n`);
      expect((await prepare()).steps, path).to.deep.equal(['building']);
    }
    project.write('plugins/late/index.ts', 'export const late = 1;\n');
    expect((await prepare()).steps).to.deep.equal(['building']);
    expect(built('plugins/late/index.js')).to.include('late');
  });

  it('does not run when a file was only touched', async () => {
    await prepare();
    utimesSync(at('plugins/echo/index.ts'), new Date(), new Date());
    expect((await prepare()).steps).to.deep.equal([]);
  });

  it('notices a change that keeps size and time', async () => {
    await prepare();
    const { atime, mtime } = statSync(at('plugins/echo/index.ts'));
    project.write('plugins/echo/index.ts', `export const echo = 'two';\n`);
    utimesSync(at('plugins/echo/index.ts'), atime, mtime);
    await prepare();
    expect(built('plugins/echo/index.js')).to.include('two');
  });

  it('removes the outputs of sources that are gone, and the folders they leave empty', async () => {
    await prepare();
    rmSync(at('plugins/echo/test/echo.test.ts'));
    await prepare();
    expect(existsSync(at('dist/plugins/echo/test'))).to.equal(false);
    expect(existsSync(at('dist/plugins/echo/index.js'))).to.equal(true);
    rmSync(at('plugins/echo'), { recursive: true });
    await prepare();
    expect(existsSync(at('dist/plugins/echo'))).to.equal(false);
    expect(existsSync(at('dist/core/main.js'))).to.equal(true);
  });

  it('recreates outputs that were removed or truncated', async () => {
    await prepare();
    for (const harm of [(file: string) => rmSync(file), (file: string) => writeFileSync(file, '')]) {
      harm(at('dist/plugins/echo/index.js'));
      expect((await prepare()).steps).to.deep.equal(['building']);
      expect(built('plugins/echo/index.js')).to.include('one');
    }
  });

  it('continues after a type error in a plugin, and reports it at every start until it is fixed', async () => {
    project.write('plugins/echo/index.ts', `export const echo: number = 'three';\n`);
    for (const attempt of ['first', 'second']) {
      const launcher = run(process.execPath, [at('scripts/start.mjs'), 'exit', '0'], { cwd: project.root });
      expect((await launcher.ended).code, attempt).to.equal(0);
      expect(launcher.lines('up'), attempt).to.have.length(1);
      expect(launcher.errors(), attempt).to.match(/plugins\/echo\/index\.ts\(1,14\): error TS2322/);
    }
    expect(built('plugins/echo/index.js')).to.include('three');
    project.write('plugins/echo/index.ts', `export const echo = 'four';\n`);
    expect((await prepare()).errors).to.deep.equal([]);
  });

  it('names the missing file when there is no server to start', async () => {
    rmSync(at('core/main.ts'));
    const launcher = run(process.execPath, [at('scripts/start.mjs')], { cwd: project.root });
    expect((await launcher.ended).code).to.equal(1);
    expect(launcher.errors()).to.match(
      /^mortise: There is no dist\/core\/main\.js to run: .*run the same command again\.$/m,
    );
  });

  it('runs in one of two concurrent starts; the other waits and uses its result', async () => {
    const starts = [1, 2].map(() =>
      run(process.execPath, [at('scripts/start.mjs'), 'exit', '0'], { cwd: project.root }),
    );
    for (const start of starts) expect((await start.ended).code).to.equal(0);
    const done = starts.map((start) => start.errors().match(/building: done/g)?.length ?? 0);
    expect(done.toSorted()).to.deep.equal([0, 1]);
  });
});

describe('a source record of the launcher', () => {
  let project: Project;
  const path = 'core/main.ts';
  beforeEach(() => {
    project = createProject({ linked: false });
  });
  afterEach(() => project.remove());

  it('is not trusted while the file could change within the same tick of the clock', async () => {
    const { compareSources } = await load('sources.mjs');
    const changed = statSync(join(project.root, path)).ctimeMs;
    const fresh = compareSources(project.root, [path], {}, changed + 1_000);
    expect(fresh.entries[path]?.slice(1, 3)).to.deep.equal([0, 0]);
    const settled = compareSources(project.root, [path], fresh.entries, changed + 3_000);
    expect(settled).to.include({ changed: false, touched: true });
    expect(settled.entries[path]?.[2]).to.equal(changed);
    const again = compareSources(project.root, [path], settled.entries, changed + 4_000);
    expect(again).to.include({ changed: false, touched: false });
  });

  it('does not hide a change that keeps the size and time of an old file', async () => {
    const { compareSources } = await load('sources.mjs');
    const file = join(project.root, path);
    const { entries } = compareSources(project.root, [path], {}, Date.now() + 60_000);
    const { mtime } = statSync(file);
    writeFileSync(file, readFileSync(file, 'utf8').replace('supervised', 'SUPERVISED'));
    utimesSync(file, mtime, mtime);
    const [size, , changed, hash] = entries[path] ?? [0, 0, 0, ''];
    expect(statSync(file).size).to.equal(size);
    // Read after utimes, which rounds the time.
    const withSameTime = { [path]: [size, statSync(file).mtimeMs, changed, hash] as const };
    expect(compareSources(project.root, [path], withSameTime, Date.now() + 60_000).changed).to.equal(true);
  });
});
