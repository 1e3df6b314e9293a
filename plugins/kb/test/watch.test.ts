import { readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKbHost, type KbHost } from 'mortise/contracts/kb/testing';
import { until } from 'mortise/sdk/testing';
import { waitAfter } from '../service/watch-repo.js';

describe('a watched repo', () => {
  let kb: KbHost;
  beforeEach(async () => {
    kb = await createKbHost({ 'a.md': '# A\n\nAn otter swims.\n' }, { watch: true });
  });
  afterEach(() => kb.stop());

  const finds = async (word: string): Promise<boolean> => (await kb.search(word)).results.length > 0;
  const refreshes = async (): Promise<number> => (await kb.ask('GET', '/kb/jobs')).body.items.length;

  it('is indexed when the server starts, and again when a file is saved, made in a new folder, or deleted', async () => {
    await until(() => finds('otter'));
    await kb.write('a.md', '# A\n\nA badger digs.\n');
    await until(() => finds('badger'));
    await kb.write('new/deep/b.md', '# B\n\nA heron waits.\n');
    await until(() => finds('heron'));
    await kb.write('new/deep/b.md', '# B\n\nA lynx hides.\n');
    await until(() => finds('lynx'));
    await kb.remove('new');
    await until(async () => !(await finds('lynx')));
  });

  it('is indexed again when its index is lost, although no file has changed', async () => {
    await until(() => finds('otter'));
    for (const suffix of ['', '-wal', '-shm']) await rm(`${kb.indexFile}${suffix}`, { force: true });
    await until('the loss is noticed', async () => !(await finds('otter')));
    await until('it is built again', () => finds('otter'), 20_000);
  });

  it('refreshes a burst of changes a few times at most, also in new folders', async () => {
    await until(() => finds('otter'));
    await until('the first refresh has ended', async () => (await kb.ask('GET', '/kb/jobs')).body.items[0].ended_at);
    const before = await refreshes();
    let written = 0;
    // Longer than a first refresh waits, twice.
    for (const end = Date.now() + 3_500; Date.now() < end; written += 1) {
      await kb.write(`many/${written % 10}/${written % 40}/${written}.md`, `# ${written}\n\nstoat\n`);
    }
    await kb.write('many/last/one.md', 'the final wolverine');
    await until(() => finds('wolverine'));
    expect((await kb.ask('GET', '/kb/stats')).body.repos[0].files).to.equal(written + 2);
    // One more for every pause of the writer that is as long as a refresh waits.
    expect((await refreshes()) - before).to.be.within(1, 6);
  });

  it('waits for the end of a burst, for a limited time', () => {
    const begun = 100_000;
    const cases: readonly (readonly [string, number, number, number, number])[] = [
      ['a single change', begun, begun, 0, 150],
      ['a change in a burst', begun + 1_000, begun, 0, 150],
      ['the limit of the first refresh', begun + 1_450, begun, 0, 50],
      ['past the limit', begun + 1_600, begun, 0, 0],
      ['what goes on after the first refresh', begun + 5_000, begun + 10, begun, 300],
      ['the limit of the second one', begun + 20_000, begun + 10, begun, 10],
      ['a change after the burst', begun + 3_000, begun + 3_000, begun, 150],
    ];
    for (const [name, now, first, lastBegun, expected] of cases)
      expect(waitAfter(now, first, lastBegun), name).to.equal(expected);
  });

  it('stops with its plugin under load, leaves no watcher, and answers again when it is enabled', async function disabled() {
    if (process.platform !== 'linux') this.skip();
    await until(() => finds('otter'));
    await until(() => isWatched(kb.root));
    const answers: { readonly status: number; readonly hint?: string }[] = [];
    let isOver = false;
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { status, body } = await kb.ask('POST', '/kb/search', { query: 'otter' });
        answers.push({ status, hint: body.error?.hint });
      }
    });
    try {
      for (let round = 0; round < 3; round += 1) {
        await kb.host.control.disable('kb');
        expect(await kb.ask('POST', '/kb/search', { query: 'otter' })).to.deep.include({ status: 404 });
        expect(isWatched(kb.root)).to.equal(false);
        await kb.host.control.enable('kb');
        expect(await finds('otter')).to.equal(true);
      }
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    await until(() => isWatched(kb.root));
    const others = answers.filter(({ status }) => status !== 200 && status !== 404 && status !== 503);
    expect(others).to.deep.equal([]);
    const disabled = answers.filter(({ status }) => status === 404).map(({ hint }) => hint);
    expect(new Set(disabled)).to.deep.equal(new Set(['plugin kb is disabled']));
  });
});

/** Whether this process watches a folder, as the kernel lists it. */
function isWatched(path: string): boolean {
  const folder = '/proc/self/fdinfo';
  const watched = new RegExp(`^inotify .*\\bino:${statSync(path).ino.toString(16)}\\b`, 'm');
  return readdirSync(folder).some((name) => {
    try {
      return watched.test(readFileSync(join(folder, name), 'utf8'));
    } catch {
      // It was closed since it was listed.
      return false;
    }
  });
}
