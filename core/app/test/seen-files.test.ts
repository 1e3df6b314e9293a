import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SeenFiles, type SeenFilesOptions } from '../file-edits.js';

describe('the seen files', () => {
  let folder: string;
  let options: SeenFilesOptions;
  const write = (key: string, value: object): Promise<void> =>
    writeFile(join(options.configDir, `${key}.json`), JSON.stringify(value));
  const edited = async (): Promise<readonly string[]> =>
    (await new SeenFiles(options).look()).edits.map(({ file }) => file);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mortise-seen-'));
    options = {
      dataDir: join(folder, 'data'),
      configDir: join(folder, 'config'),
      pluginsFile: join(folder, 'plugins.json'),
    };
    await Promise.all([mkdir(options.dataDir), mkdir(options.configDir)]);
    await writeFile(options.pluginsFile, '{"plugins":{}}');
    await write('one', { a: 1 });
    await write('two', { a: 1 });
    await new SeenFiles(options).look();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are reported as edited until the report is taken', async () => {
    await write('one', { a: 2 });
    expect(await edited()).to.deep.equal(['config/one.json']);
    const { take } = await new SeenFiles(options).look();
    await take();
    expect(await edited()).to.deep.equal([]);
  });

  it('include changes by the platform between the look and the take', async () => {
    const seen = new SeenFiles(options);
    await write('one', { a: 2 });
    const { edits, take } = await seen.look();
    await write('two', { a: 2 });
    await seen.know({ path: join(options.configDir, 'two.json'), before: '{"a":1}' });
    await take();
    expect(edits.map(({ file }) => file)).to.deep.equal(['config/one.json']);
    expect(await edited()).to.deep.equal([]);
  });

  it('stay reported when the platform changes another part of the same file', async () => {
    const text = (one: boolean, two: boolean) =>
      JSON.stringify({ plugins: { one: { enabled: one }, two: { enabled: two } } });
    await writeFile(options.pluginsFile, text(true, true));
    const seen = new SeenFiles(options);
    await seen.knowAll(options.pluginsFile);
    await writeFile(options.pluginsFile, text(false, true));
    await writeFile(options.pluginsFile, text(false, false));
    await seen.know({ path: options.pluginsFile, before: text(false, true) });
    const { edits } = await new SeenFiles(options).look();
    expect(edits.map(({ plugins }) => plugins)).to.deep.equal([['one']]);
  });
});
