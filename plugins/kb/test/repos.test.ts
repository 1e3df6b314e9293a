import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createKbHost, type Json, type KbHost } from 'mortise/contracts/kb/testing';

const program = fileURLToPath(new URL('./search-process.js', import.meta.url));

/** What another process finds in the index. */
function searchProcess(index: string, query: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, index, query], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`The search ended with ${code}.`))));
  });
}

describe('a search in all repos', () => {
  it('names the repos that are not indexed', async () => {
    const repos = ['default', 'other'].map((name) => ({ name, path: name }));
    const kb = await createKbHost({}, { repos });
    try {
      for (const { name } of repos) {
        await mkdir(join(kb.host.dataDir, name), { recursive: true });
        await writeFile(join(kb.host.dataDir, name, 'a.md'), '# Same\n\nA walrus in both.\n');
      }
      await kb.refresh();
      for (const query of ['walrus', 'ibis']) {
        const { results, notes } = await kb.search(query, { repo: '*' });
        expect(results).to.have.length(query === 'walrus' ? 1 : 0);
        expect(notes?.join()).to.include('Not indexed yet: other (mortise kb refresh');
      }
      await kb.refresh({ repo: 'other' });
      expect((await kb.search('walrus', { repo: '*' })).notes).to.equal(undefined);
    } finally {
      await kb.stop();
    }
  });
});

describe('a knowledge base without repos', () => {
  it('says so to every search and refresh', async () => {
    const kb = await createKbHost({}, { repos: [] });
    try {
      for (const [path, body] of [
        ['/kb/search', { query: 'walrus' }],
        ['/kb/search', { query: 'walrus', repo: '*' }],
        ['/kb/refresh', {}],
      ] as const) {
        const { status, body: answer } = await kb.ask('POST', path, body);
        expect([status, answer.error.code], path).to.deep.equal([404, 'no_repos']);
        expect(answer.error.message).to.include('No repo is configured');
      }
      expect((await kb.ask('GET', '/kb/stats')).body.repos).to.deep.equal([]);
    } finally {
      await kb.stop();
    }
  });
});

describe('two repos with the same files', () => {
  let kb: KbHost;
  const same = '# Same\n\nA walrus in both.\n';
  before(async () => {
    const repos = [
      { name: 'default', path: 'repo' },
      { name: 'other', path: 'other' },
    ];
    kb = await createKbHost({ 'a.md': same, 'only.md': '# Only\n\nAn ibis here.\n' }, { repos });
    const other = join(kb.host.dataDir, 'other');
    await mkdir(other);
    await writeFile(join(other, 'a.md'), same);
    await kb.refresh();
    await kb.refresh({ repo: 'other' });
  });
  after(() => kb.stop());

  const found = async (query: string, repo?: string) => {
    const { results } = await kb.search(query, repo === undefined ? {} : { repo });
    return results.map((hit) => `${hit.repo}/${hit.path}`).sort();
  };

  it('are searched apart, and together by *', async () => {
    expect(await found('walrus')).to.deep.equal(['default/a.md']);
    expect(await found('walrus', 'other')).to.deep.equal(['other/a.md']);
    expect(await found('walrus', '*')).to.deep.equal(['default/a.md', 'other/a.md']);
    expect(await found('ibis', 'other')).to.deep.equal([]);
  });

  it('change apart', async () => {
    await writeFile(join(kb.host.dataDir, 'other', 'a.md'), '# Same\n\nA lynx in one.\n');
    await kb.refresh({ repo: 'other' });
    expect(await found('walrus', '*')).to.deep.equal(['default/a.md']);
    expect(await found('lynx', '*')).to.deep.equal(['other/a.md']);
    const rows = async (repo: string) => (await kb.ask('GET', `/kb/sources?repo=${repo}`)).body.items as Json[];
    expect((await rows('default')).map(({ path }) => path)).to.have.members(['a.md', 'only.md']);
    expect((await rows('other')).map(({ path }) => path)).to.deep.equal(['a.md']);
  });

  it('are found alike by every process', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => searchProcess(kb.indexFile, 'walrus ibis same')));
    expect(JSON.parse(answers[0] ?? '')).to.have.length(2);
    expect(new Set(answers).size).to.equal(1);
  });
});
