import { expect } from 'chai';
import { createKbHost, type KbHost } from 'mortise/contracts/kb/testing';
import { until } from 'mortise/sdk/testing';

const text = (index: number): string =>
  `# Document ${index}\n\nNumber n${index} of many.\n\n${'some words that fill the page '.repeat(80)}\n`;

describe('a refresh of many files', () => {
  let kb: KbHost;
  const count = 1_500;
  beforeEach(async () => {
    const files = Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.md`, text(index)]));
    kb = await createKbHost({ 'first.md': '# First\n\nA walrus swims.\n' });
    await kb.refresh();
    await Promise.all(Object.entries(files).map(([path, content]) => kb.write(path, content)));
  });
  afterEach(() => kb.stop());

  const begin = async (): Promise<string> => (await kb.ask('POST', '/kb/refresh', {})).body.job.id;
  const job = async (id: string) => (await kb.ask('GET', `/kb/jobs/${id}`)).body;

  it('keeps what it has committed when it is cancelled part-way, and the next one completes it', async () => {
    const total = 3_000;
    for (let index = count; index < total; index += 1) await kb.write(`${index}.md`, text(index));
    const id = await begin();
    // Without pauses: a batch takes only some hundred milliseconds.
    for (let shown = await job(id); shown.done === 0 && shown.ended_at === null; ) shown = await job(id);
    expect((await kb.ask('POST', `/kb/jobs/${id}/cancel`)).status).to.be.below(300);
    await until('the job has ended', async () => (await job(id)).ended_at !== null);
    expect((await job(id)).state).to.equal('cancelled');
    expect((await kb.search('walrus')).results).to.have.length(1);
    const { changed_files } = await kb.refresh();
    expect(changed_files).to.be.within(1, total - 1);
    expect((await kb.search(`n${total - 1}`)).results[0]?.path).to.equal(`${total - 1}.md`);
    expect((await kb.refresh()).changed_files).to.equal(0);
  });

  it('fails no search meanwhile', async () => {
    const id = await begin();
    let searches = 0;
    while ((await job(id)).ended_at === null) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => kb.search('walrus')));
      for (const { results } of answers) expect(results.map(({ path }) => path)).to.deep.equal(['first.md']);
      searches += answers.length;
    }
    expect((await job(id)).state).to.equal('done');
    expect(searches).to.be.above(0);
  });

  it('ends when the plugin is disabled under load, and continues when it is enabled', async () => {
    const id = await begin();
    await until('it runs', async () => (await job(id)).state === 'running');
    const load = Promise.all(Array.from({ length: 50 }, () => kb.ask('POST', '/kb/search', { query: 'walrus' })));
    await kb.host.control.disable('kb');
    for (const { status, body } of await load) {
      expect(status).to.be.oneOf([200, 404, 499, 503]);
      if (status !== 200) expect(body.error.hint).to.be.a('string');
    }
    await kb.host.control.enable('kb');
    await kb.refresh();
    expect((await kb.search(`n${count - 1}`)).results[0]?.path).to.equal(`${count - 1}.md`);
  });
});
