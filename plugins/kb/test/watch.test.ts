import { expect } from 'chai';
import { createKbHost, type KbHost } from 'mortise/contracts/kb/testing';
import { until } from 'mortise/sdk/testing';

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

  it('refreshes a burst of changes at most twice', async () => {
    await until(() => finds('otter'));
    const before = await refreshes();
    await Promise.all(Array.from({ length: 300 }, (_, index) => kb.write(`many/${index}.md`, `# ${index}\n\nstoat\n`)));
    await kb.write('many/last.md', 'the final wolverine');
    await until(() => finds('wolverine'));
    expect((await refreshes()) - before).to.be.at.most(3);
  });

  it('stops with its plugin and answers again when it is enabled', async () => {
    await until(() => finds('otter'));
    await kb.host.control.disable('kb');
    const { status } = await kb.ask('POST', '/kb/search', { query: 'otter' });
    expect(status).to.be.oneOf([404, 503]);
    await kb.host.control.enable('kb');
    expect(await finds('otter')).to.equal(true);
  });
});
