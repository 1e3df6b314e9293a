import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { confine, createFiles, writeAtomic } from '../index.js';

describe('files', () => {
  let base: string;
  let root: string;

  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'mortise-files-')));
    root = join(base, 'root');
    await mkdir(join(root, 'inner'), { recursive: true });
    await mkdir(join(base, 'root-twin'));
    await writeFile(join(base, 'outside.txt'), 'x');
    await writeFile(join(root, 'inside.txt'), 'x');
  });

  afterEach(() => rm(base, { recursive: true, force: true }));

  async function refusal(path: string): Promise<string> {
    try {
      return `allowed: ${await confine(root, path)}`;
    } catch (error) {
      return String(Reflect.get(error as object, 'code'));
    }
  }

  it('allows existing and new paths', async () => {
    expect(await confine(root, 'inside.txt')).to.equal(join(root, 'inside.txt'));
    expect(await confine(root, 'inner/../inside.txt')).to.equal(join(root, 'inside.txt'));
    expect(await confine(root, 'new/deep/file.txt')).to.equal(join(root, 'new/deep/file.txt'));
    expect(await confine(root, join(root, 'inside.txt'))).to.equal(join(root, 'inside.txt'));
    expect(await confine(root, '..names-that-begin-with-dots')).to.equal(join(root, '..names-that-begin-with-dots'));
    expect(await confine(root, '.')).to.equal(root);
  });

  for (const path of [
    '../outside.txt',
    '/etc/passwd',
    'inner/../../outside.txt',
    '../root-twin/x',
    'a\0b',
    'inside.txt/x/../../../..',
  ]) {
    it(`refuses ${JSON.stringify(path)}`, async () => {
      expect(await refusal(path)).to.equal('outside_roots');
    });
  }

  it('follows links that stay inside and refuses links that leave, even in the middle of a path or when dangling', async () => {
    await symlink(join(root, 'inside.txt'), join(root, 'good'));
    await symlink(base, join(root, 'up'));
    await symlink(join(base, 'nowhere'), join(root, 'dangling'));
    await symlink(join(root, 'loop'), join(root, 'loop'));
    expect(await confine(root, 'good')).to.equal(join(root, 'inside.txt'));
    for (const path of ['up', 'up/outside.txt', 'up/new.txt', 'dangling', 'dangling/new.txt', 'loop']) {
      expect(await refusal(path), path).to.equal('outside_roots');
    }
  });

  it('replaces a file atomically, keeps its mode and leaves no temporary file', async () => {
    const path = join(root, 'a.json');
    await writeFile(path, 'old');
    await chmod(path, 0o664);
    await writeAtomic(path, 'new');
    expect(await readFile(path, 'utf8')).to.equal('new');
    expect((await stat(path)).mode & 0o777).to.equal(0o664);
    expect((await readdir(root)).sort()).to.deep.equal(['a.json', 'inner', 'inside.txt']);
  });

  it('shows a reader either the old or the new bytes, never a part', async () => {
    const path = join(root, 'a.json');
    const texts = ['a', 'b'].map((letter) => letter.repeat(300_000));
    await writeAtomic(path, texts[0] ?? '');
    let writing = true;
    const reader = (async () => {
      while (writing) expect(texts).to.include(await readFile(path, 'utf8'));
    })();
    for (let round = 0; round < 20; round += 1) await writeAtomic(path, texts[round % 2] ?? '');
    writing = false;
    await reader;
  });

  it('keeps the old file and leaves no temporary file when it cannot write', async () => {
    const folder = join(root, 'inner');
    let failed = false;
    await writeAtomic(folder, 'x').catch(() => {
      failed = true;
    });
    expect(failed).to.equal(true);
    expect((await readdir(root)).sort()).to.deep.equal(['inner', 'inside.txt']);
  });

  it('gives a plugin a folder that only its owner can read', async () => {
    const files = createFiles({ plugin: 'skills', dataDir: join(base, 'data'), pluginFolder: root });
    const folder = await files.ownFolder();
    expect(folder).to.equal(join(base, 'data', 'skills'));
    expect((await stat(folder)).mode & 0o777).to.equal(0o700);
    expect(files.pluginFolder).to.equal(root);
  });
});
