import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { createKbHost, type KbHost } from 'mortise/contracts/kb/testing';
import { until } from 'mortise/sdk/testing';

describe('requests to the knowledge base', () => {
  let kb: KbHost;
  before(async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`${index}.md`, `# ${index}\n\nAn otter swims ${index} times.\n`]),
    );
    kb = await createKbHost(files);
    await kb.refresh();
  });
  after(() => kb.stop());

  it('are refused when a member is unknown or of another type, before anything is done', async () => {
    const wrong: readonly (readonly [path: string, body: object, code: string])[] = [
      ['/kb/repair', { check: 'true' }, 'invalid_json'],
      ['/kb/repair', { check: true, nope: 1 }, 'invalid_request'],
      ['/kb/reindex', { repos: 'default' }, 'invalid_request'],
      ['/kb/refresh', { wait: 'yes' }, 'invalid_json'],
      ['/kb/refresh', { modes: 'full' }, 'invalid_request'],
      ['/kb/embeddings/build', { repo: 1 }, 'invalid_json'],
    ];
    for (const [path, body, code] of wrong) {
      const { status, body: answer } = await kb.ask('POST', path, body);
      expect([status, answer.error?.code], `${path} ${JSON.stringify(body)}`).to.deep.equal([400, code]);
    }
    const misspelt = ['sources?cursor=zzz', 'sources?doc_type=nope', 'sources?state=stale', 'search?q=otter&topk=1'];
    for (const query of [...misspelt, 'evidence?repo=default&reff=x', 'chunks/x?querry=otter']) {
      expect((await kb.ask('GET', `/kb/${query}`)).body.error.code, query).to.equal('invalid_request');
    }
    const first = (await kb.ask('GET', '/kb/sources?limit=1')).body;
    const second = (await kb.ask('GET', `/kb/sources?limit=1&cursor=${first.next_cursor}`)).body;
    expect(second.items[0].path).not.to.equal(first.items[0].path);
  });

  it('find the index healthy after a large part of it was written again', async () => {
    const healthy = async () => {
      const { status, body } = await kb.ask('GET', '/kb/health');
      expect([status, body.ok, body.checks.integrity], JSON.stringify(body)).to.deep.equal([200, true, true]);
      return body;
    };
    await healthy();
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 700; index += 1) {
        await kb.write(`${index}.md`, `# ${index}\n\nA heron waits, round ${round}.\n`);
      }
      await kb.refresh();
      await kb.search('heron');
      await healthy();
    }
    const { index_lag_seconds: lag } = await healthy();
    expect(lag).to.be.within(0, 60);
  });

  it('count a refresh that failed among the errors', async () => {
    const before = (await kb.ask('GET', '/kb/health')).body.errors_7d;
    await rename(kb.root, `${kb.root}-gone`);
    const { body } = await kb.ask('POST', '/kb/refresh', {});
    const job = async () => (await kb.ask('GET', `/kb/jobs/${body.job.id}`)).body;
    await until('the job has ended', async () => (await job()).ended_at !== null);
    await rename(`${kb.root}-gone`, kb.root);
    expect((await job()).error.code).to.equal('repo_unavailable');
    expect((await kb.ask('GET', '/kb/health')).body.errors_7d).to.equal(before + 1);
  });

  it('that find a damaged index leave it as it is, also when they are counted', async () => {
    for (const suffix of ['', '-wal', '-shm']) await rm(`${kb.indexFile}${suffix}`, { force: true });
    await writeFile(kb.indexFile, randomBytes(5_000));
    const search = () => kb.ask('POST', '/kb/search', { query: 'heron' });
    await until('the damage is noticed', async () => (await search()).body.error?.code === 'index_unavailable');
    for (const errors of [2, 3]) {
      expect((await search()).body.error?.code).to.equal('index_unavailable');
      const health = await kb.ask('GET', '/kb/health');
      expect([health.status, health.body.ok, health.body.errors_7d]).to.deep.equal([503, false, errors]);
    }
    await kb.refresh();
    expect((await kb.ask('GET', '/kb/health')).status).to.equal(200);
  });

  it('keep the counts of the week over a restart', async () => {
    const counts = async () => {
      const { errors_7d: errors, empty_answers_7d: empty } = (await kb.ask('GET', '/kb/health')).body;
      return { errors, empty };
    };
    const before = await counts();
    await kb.search('zzzzunheardof');
    const after = await counts();
    expect(after).to.deep.equal({ ...before, empty: before.empty + 1 });
    await kb.host.control.restart('kb');
    expect(await counts()).to.deep.equal(after);
  });
});
