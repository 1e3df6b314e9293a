import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKbHost, type KbHost, wrongExplanations } from 'mortise/contracts/kb/testing';

const guide = `# Auth guide

The OAuth2 flow for node.js v1.2 checks file_hash before we implement user sessions.

用户认证流程说明：如何实现 JWT 认证？`;

describe('a search of the knowledge base', () => {
  let kb: KbHost;
  before(async () => {
    const decision = '# Tokens\n\nA refresh token is rotated with every use.\n';
    kb = await createKbHost({
      'docs/a.md': guide,
      'docs/adr/x.md': decision,
      'docs/x.md': decision,
      'docs/y/README.md': decision,
      'docs/x_y/one.md': '# Scope\n\nA walrus lives here.\n',
      'docs/xzy/two.md': '# Scope\n\nA walrus lives there.\n',
      'notes/50%.txt': 'A walrus in a text file with authentication.\n',
    });
    await kb.refresh();
  });
  after(() => kb.stop());

  const literal = [
    'what is OAuth2?',
    'node.js',
    'v1.2',
    'docs/a.md',
    "user's",
    '"unbalanced',
    'foo-bar',
    'auth:',
    '{x}',
    'path:adr',
    '^Auth',
    'auth*',
    '(auth)',
    'NOT auth',
    'a AND b',
    'C#',
    'C++',
    '--',
    "'; drop table kb_chunks; --",
    '\u0000auth\ud800',
  ];
  for (const query of literal) {
    it(`reads any characters as text: ${JSON.stringify(query)}`, async () => {
      const { status, body } = await kb.ask('POST', '/kb/search', { query });
      expect(status).to.equal(200);
      expect(body.results.length > 0 || typeof body.reason === 'string').to.equal(true);
      const get = await kb.ask('GET', `/kb/search?q=${encodeURIComponent(query.toWellFormed())}`);
      expect(get.status).to.equal(200);
    });
  }

  for (const query of [
    'what is OAuth2?',
    'node.js',
    'v1.2',
    'docs/a.md',
    "user's",
    'auth:',
    '(auth)',
    'GUIDE',
    'guidé',
    'implementing',
    'fileHash',
    '认证',
    'JWT认证',
    '认证流程',
    '流程说明',
  ]) {
    it(`finds the guide for ${query}`, async () => {
      const { results } = await kb.search(query, { scope: 'docs/a.md' });
      expect(results.map(({ path }) => path)).to.deep.equal(['docs/a.md']);
      expect(results[0]?.snippet.marks.length, 'marks').to.be.greaterThan(query === 'docs/a.md' ? -1 : 0);
    });
  }

  it('says why an answer is empty', async () => {
    const reasonOf = async (query: string, more = {}) => (await kb.search(query, more)).reason;
    expect(await reasonOf('--')).to.equal('no_searchable_terms');
    expect(await reasonOf('xylophone')).to.equal('no_match');
    expect(await reasonOf('walrus', { filters: { doc_types: ['adr'] } })).to.equal('filtered_out');
  });

  it('replaces a word that occurs nowhere by the closest known ones', async () => {
    const { results, suggestions } = await kb.search('authentification');
    expect(suggestions).to.include('authentication');
    expect(results[0]?.path).to.equal('notes/50%.txt');
    expect(results[0]?.explanation?.terms[0]?.expanded_from).to.equal('authentification');
    expect(results[0]?.explanation?.matched_terms).to.deep.equal(['authentification']);
  });

  it('orders equal texts by the kind of their document, and shows the order that counts', async () => {
    const { results } = await kb.search('refresh token rotated');
    expect(results.map(({ path }) => path)).to.deep.equal(['docs/adr/x.md', 'docs/x.md', 'docs/y/README.md']);
    const scores = results.map(({ score }) => score);
    expect([...scores].sort((a, b) => b - a)).to.deep.equal(scores);
    expect(results.map(({ explanation }) => explanation?.document_boost)).to.deep.equal([1.5, 1, 0.3]);
  });

  it('explains every score by parts that add up to it, and cites exact lines', async () => {
    for (const query of [
      'refresh token',
      'walrus',
      'JWT 认证 sessions',
      '"rotated with every use"',
      'authentification walrus',
    ]) {
      const answer = await kb.search(query, { content: true });
      expect(answer.results).not.to.have.length(0);
      expect(wrongExplanations(answer)).to.deep.equal([]);
      for (const hit of answer.results) {
        const lines = (await readFile(join(kb.root, hit.path), 'utf8')).split('\n');
        expect(lines.slice(hit.start_line - 1, hit.end_line).join('\n')).to.equal(hit.content);
        expect(hit.evidence_ref).to.match(/^kb:[a-z0-9_]+:.+#L[0-9]+-L[0-9]+$/);
        for (const [from, to] of hit.snippet.marks) expect(hit.snippet.text.slice(from, to).trim()).not.to.equal('');
      }
    }
    const { results } = await kb.search('"rotated with every use"');
    expect(results[0]?.explanation?.parts.phrase).to.be.greaterThan(0);
  });

  it('takes a scope literally', async () => {
    const paths = async (scope: string) => (await kb.search('walrus', { scope })).results.map(({ path }) => path);
    expect(await paths('docs/x_y/')).to.deep.equal(['docs/x_y/one.md']);
    expect(await paths('notes/50%')).to.deep.equal(['notes/50%.txt']);
    expect(await paths('docs/x*')).to.deep.equal([]);
  });

  it('filters by operators when asked to, and reports the place of a mistake', async () => {
    const paths = async (query: string) =>
      (await kb.search(query, { syntax: true })).results.map(({ path }) => path).sort();
    expect(await paths('walrus -lives')).to.deep.equal(['notes/50%.txt']);
    expect(await paths('walrus path:x_y')).to.deep.equal(['docs/x_y/one.md']);
    expect(await paths('token type:adr')).to.deep.equal(['docs/adr/x.md']);
    expect(await paths('"lives there" walrus')).to.deep.equal(['docs/xzy/two.md']);
    const { status, body } = await kb.ask('POST', '/kb/search', { query: 'walrus "lives', syntax: true });
    expect([status, body.error.code, body.error.details.position]).to.deep.equal([400, 'invalid_query', 7]);
  });

  it('counts recency from a given day', async () => {
    const today = new Date();
    const boostAfter = async (days: number): Promise<number> => {
      const day = new Date(today.getTime() + days * 86_400_000).toISOString().slice(0, 10);
      return (await kb.search('walrus', { as_of: day })).results[0]?.explanation?.recency_boost ?? 0;
    };
    const expected = { '-5': 1.5, 0: 1.5, 1: 1.483608, 7: 1.395945, 30: 1.18394, 90: 1.024894 };
    for (const [days, boost] of Object.entries(expected)) {
      expect(await boostAfter(Number(days)), days).to.be.closeTo(boost, 1e-6);
    }
  });

  it('answers equal searches equally', async () => {
    const first = await kb.search('token walrus', { as_of: '2026-01-01' });
    const second = await kb.search('token walrus', { as_of: '2026-01-01' });
    expect(second.results).to.deep.equal(first.results);
  });

  const refused: readonly (readonly [object | string, string])[] = [
    [{}, 'invalid_json'],
    [{ query: 5 }, 'invalid_json'],
    ['{', 'invalid_json'],
    [{ query: ' ' }, 'invalid_query'],
    [{ query: 'x'.repeat(8_193) }, 'invalid_query'],
    [{ query: 'x', top_k: 0 }, 'invalid_request'],
    [{ query: 'x', top_k: 101 }, 'invalid_request'],
    [{ query: 'x', offset: 101 }, 'invalid_request'],
    [{ query: 'x', nonsense: 1 }, 'invalid_request'],
    [{ query: 'x', filters: { doc_types: ['nonsense'] } }, 'invalid_request'],
    [{ query: 'x', filters: { modified_after: 'soon' } }, 'invalid_request'],
    [{ query: 'x', as_of: '2026-02-30' }, 'invalid_request'],
  ];
  for (const [body, code] of refused) {
    it(`refuses ${JSON.stringify(body).slice(0, 60)} with ${code}`, async () => {
      const answer = await kb.ask('POST', '/kb/search', body);
      expect([answer.status, answer.body.error.code]).to.deep.equal([400, code]);
    });
  }

  it('names the repos there are for an unknown one', async () => {
    const { status, body } = await kb.ask('POST', '/kb/search', { query: 'x', repo: 'other' });
    expect([status, body.error.code, body.error.details.known]).to.deep.equal([404, 'repo_not_found', ['default']]);
  });

  it('accepts a query of two thousand different words', async () => {
    const words = Array.from({ length: 1_500 }, (_, index) =>
      String.fromCharCode(97 + (index % 26)).repeat(1 + (index % 5)),
    );
    const { status } = await kb.ask('POST', '/kb/search', { query: `walrus ${words.join(' ').slice(0, 8_000)}` });
    expect(status).to.equal(200);
  });
});

describe('a search among files of an unusual form', () => {
  it('answers from a line of a megabyte that matches from end to end', async () => {
    const kb = await createKbHost({ 'docs/line.md': `# Line\n\n${'walrus '.repeat(150_000)}\n` });
    try {
      await kb.refresh();
      const [hit] = (await kb.search('walrus')).results;
      expect([hit?.path, hit?.lines]).to.deep.equal(['docs/line.md', 'L1-L3']);
      expect(hit?.snippet.text.length).to.be.within(1, 500);
      expect(hit?.snippet.marks.length).to.be.greaterThan(0);
    } finally {
      await kb.stop();
    }
  });
});
