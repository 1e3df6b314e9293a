import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { PluginProblem } from '../../messages/plugin-problem.js';
import { type CatalogueEntry, readCatalogue } from '../catalogue.js';
import { importEntry } from '../plugin-code.js';

const manifest = (key: string, more: object = {}): string =>
  JSON.stringify({ manifestVersion: 1, key, version: '1.0.0', title: key, summary: 'Made by a test.', ...more });

describe('the plugin folders', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mortise-catalogue-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function put(key: string, text?: string): Promise<(name: string) => string> {
    await mkdir(join(folder, key));
    if (text !== undefined) await writeFile(join(folder, key, 'plugin.json'), text);
    return (name) => join(folder, key, name);
  }

  async function entry(key: string): Promise<CatalogueEntry | undefined> {
    const entries = await readCatalogue([{ path: folder, source: 'local' }], () => []);
    return entries.find((one) => one.key === key);
  }

  if (process.platform !== 'win32') {
    it('report a manifest that is a named pipe for that plugin only', async () => {
      const inPipe = await put('pipe');
      execFileSync('mkfifo', [inPipe('plugin.json')]);
      await put('well', manifest('well'));
      const found = await entry('pipe');
      expect(found?.problem?.code).to.equal('manifest_unreadable');
      expect(found?.problem?.message).to.match(/pipe\/plugin\.json .* not a regular file\.$/);
      expect((await entry('well'))?.problem).to.equal(null);
    });

    it('report facts and a configuration schema that are named pipes', async () => {
      const tool = { contributes: { tool: [{ key: 'piped', facts: 'facts.json' }] } };
      execFileSync('mkfifo', [(await put('piped', manifest('piped', tool)))('facts.json')]);
      const config = { config: 'config.schema.json' };
      execFileSync('mkfifo', [(await put('schema', manifest('schema', config)))('config.schema.json')]);
      expect((await entry('piped'))?.problem?.message).to.match(/facts\.json .* not a regular file/);
      expect((await entry('schema'))?.problem?.message).to.match(/config\.schema\.json .* not a regular file/);
    });

    it('load no code from a named pipe', async () => {
      execFileSync('mkfifo', [(await put('code', manifest('code')))('index.js')]);
      const found = await entry('code');
      const error = found && (await importEntry(found).catch((caught: unknown) => caught));
      expect(error).to.be.instanceOf(PluginProblem).and.to.include({ code: 'entry_no_file' });
    });
  }

  it('skip a folder that contains only the contract of a deleted plugin', async () => {
    await put('deleted');
    await mkdir(join(folder, 'deleted', 'contract'));
    expect(await entry('deleted')).to.equal(undefined);
    await writeFile(join(folder, 'deleted', 'index.js'), '');
    expect((await entry('deleted'))?.problem?.code).to.equal('manifest_unreadable');
  });

  it('report a manifest that is too large', async () => {
    await put('big', manifest('big', { title: 'x'.repeat(1_100_000) }));
    const found = await entry('big');
    expect(found?.problem?.code).to.equal('manifest_unreadable');
    expect(found?.problem?.message).to.match(/larger than 1 MiB/);
  });
});
