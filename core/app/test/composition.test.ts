import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openApp } from '../app.js';
import { Composition, type Token } from '../composition.js';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

const token = (name: string): Token<string> => ({ name });
const [first, second, third] = ['first', 'second', 'third'].map(token) as [Token<string>, Token<string>, Token<string>];

describe('the composition of a process', () => {
  let seen: string[];
  const part = (name: string) => [() => `${seen.push(`open ${name}`)}`, () => seen.push(`close ${name}`)] as const;
  beforeEach(() => {
    seen = [];
  });

  it('opens its parts in order and closes them in reverse, including those added later', async () => {
    const composition = new Composition().part(first, ...part('1')).part(second, async (all) => {
      all.own(() => seen.push('undo 2'));
      return `${all.get(first)} and more`;
    });
    await composition.open();
    expect(composition.get(second)).to.equal('1 and more');
    composition.own(() => seen.push('close late'));
    await composition.close();
    expect(seen).to.deep.equal(['open 1', 'close late', 'undo 2', 'close 1']);
  });

  it('closes what was open when a later part fails, and reports that failure', async () => {
    const composition = new Composition()
      .part(first, ...part('1'))
      .part(
        second,
        () => 'two',
        () => {
          throw new Error('cannot close');
        },
      )
      .part(third, () => {
        throw new Error('the port is taken');
      });
    const error = await composition.open().catch((thrown: unknown) => thrown);
    expect((error as Error).message).to.equal('the port is taken');
    expect(seen).to.deep.equal(['open 1', 'close 1']);
  });

  it('returns only open parts, and undefined for a part that this process does not have', async () => {
    const composition = new Composition().part(first, () => undefined).part(second, () => 'two');
    expect(() => composition.get(second)).to.throw('"second" is not open');
    await composition.open();
    expect([composition.find(first), composition.find(second)]).to.deep.equal([undefined, 'two']);
    expect(() => composition.get(first)).to.throw('"first" is not open');
  });
});

describe('a start that fails after the database was opened', () => {
  it('closes the database again', async () => {
    const root = await mkdtemp(join(tmpdir(), 'mortise-rollback-'));
    const data = join(root, 'data');
    await mkdir(join(root, 'config'));
    await cp(join(projectDir, 'schemas'), join(root, 'schemas'), { recursive: true });
    await cp(join(projectDir, 'package.json'), join(root, 'package.json'));
    await rm(join(root, 'schemas', 'plugin.schema.json'));
    await writeFile(join(root, 'plugins.json'), '{"version":1,"plugins":{}}');
    const env = {
      MORTISE_DATA_DIR: data,
      MORTISE_CONFIG_DIR: join(root, 'config'),
      MORTISE_PLUGINS_FILE: join(root, 'plugins.json'),
      MORTISE_LOG_LEVEL: 'silent',
    };
    const opened = openApp({ projectDir: root, cwd: root, env });
    const error = await opened.catch((thrown: unknown) => thrown);
    expect((error as NodeJS.ErrnoException).message).to.include('plugin.schema.json');
    const files = await readdir(data);
    expect(files).to.include('mortise.db');
    // SQLite removes its write-ahead log when the last connection is closed.
    expect(files).not.to.include('mortise.db-wal');
    await rm(root, { recursive: true });
  });
});
