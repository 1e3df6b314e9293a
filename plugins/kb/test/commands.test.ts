import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKbHost, type Json, type KbHost } from 'mortise/contracts/kb/testing';
import { until } from 'mortise/sdk/testing';

const operator = { id: 'operator', admin: true, loopback: true, authenticated: false };

describe('the commands of the knowledge base', () => {
  let kb: KbHost;
  before(async () => {
    const files = { 'a.md': '# A\n\nAn otter swims.\n', 'b.md': '# B\n\nA heron waits.\n' };
    kb = await createKbHost(files, {}, { plugins: ['embedder-hashed'] });
    await kb.refresh();
  });
  after(() => kb.stop());

  const run = (
    key: string,
    args: readonly string[] = [],
    more: {
      options?: Record<string, string | boolean | readonly string[]>;
      resume?: string;
      signal?: AbortSignal;
    } = {},
  ) => {
    const { options = {}, resume, signal } = more;
    const input = { args, options, json: true, ...(resume !== undefined && { resume }) };
    return kb.host.points.call('command', key, (command, ctx) => command.run(input, ctx), {
      principal: operator,
      ...(signal && { signal }),
    });
  };
  /** Runs a command that reports progress until it has ended. */
  const complete = async (key: string, args: readonly string[], options: Record<string, string | boolean> = {}) => {
    let result = await run(key, args, { options });
    while (result.again !== undefined) result = await run(key, args, { options, resume: result.again.resume });
    return result;
  };

  it('evaluates a folder with documents, queries and judgements', async () => {
    const folder = join(kb.host.dataDir, 'set');
    await mkdir(folder);
    const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const documents = ['otters swim in rivers', 'herons wait for fish', 'bread is baked early'];
    await writeFile(
      join(folder, 'corpus.jsonl'),
      lines(documents.map((text, index) => ({ _id: `d${index}`, title: '', text }))),
    );
    await writeFile(
      join(folder, 'queries.jsonl'),
      lines([
        { _id: 'q0', text: 'swimming otter' },
        { _id: 'q1', text: 'baked bread' },
      ]),
    );
    await writeFile(join(folder, 'qrels.tsv'), 'query-id\tcorpus-id\tscore\nq0\td0\t1\nq1\td2\t1\n');
    const { exitCode, data, text } = await complete('kb-eval', [folder]);
    expect(exitCode).to.equal(0);
    const { metrics } = data as Json;
    expect(text).to.include('3 documents, 2 queries');
    expect(Object.values(metrics)).to.include(1);
    expect(metrics).to.include({ 'ndcg@10': 1, 'mrr@10': 1 });
  });

  it('shows what is indexed, how much of it has a vector, and that there is more', async () => {
    expect((await run('kb-stats')).text).to.match(
      /Repo default: 2 files, 2 chunks[\s\S]*Embedding coverage: 0.0% \(0\/2\)/,
    );
    const { table, text } = await run('kb-sources', [], { options: { limit: '1' } });
    expect(table?.rows).to.deep.equal([['a.md', 'indexed', '1', 'default', '']]);
    expect(text).to.include('There are more');
    expect((await run('kb-sources')).text).to.equal('');
  });

  it('refuses what would do less than was asked for, or something else', async () => {
    const both = await run('kb-refresh', [], { options: { full: true, verify: true } });
    expect(both.exitCode).to.equal(2);
    const other = join(kb.host.dataDir, 'elsewhere');
    await mkdir(other);
    const taken = await run('kb-repos', ['add', 'default', other]);
    expect(taken.exitCode).to.equal(2);
    const { data } = await run('kb-repos', []);
    expect((data as Json).repos[0].path).to.equal(kb.root);
  });

  it('names the line of a set that cannot be read', async () => {
    const file = join(kb.host.dataDir, 'bad.jsonl');
    await writeFile(file, '{"query":"otter","relevant":["a.md"]}\nnonsense\n');
    const error = await run('kb-eval', [file]).catch((refused: unknown) => refused as Json);
    expect(error.code).to.equal('invalid_evaluation_set');
    expect(error.message).to.include('bad.jsonl, line 2');
    expect((await run('kb-eval', [file], { options: { k: '0' } })).exitCode).to.equal(2);
  });

  it('refuses to measure what is not indexed, and a set without queries', async () => {
    const file = join(kb.host.dataDir, 'queries.jsonl');
    await writeFile(file, '{"query":"otter","expected_paths":["a.md"]}\n');
    const { text, data } = await run('kb-eval', [file]);
    expect((data as Json).metrics).to.include({ 'mrr@10': 1 });
    expect(text).to.include('queries.jsonl: 2 documents, 1 queries');
    const root = join(kb.host.dataDir, 'never-indexed');
    await mkdir(root);
    const refusal = async (...args: Parameters<typeof run>) => run(...args).catch((error: unknown) => error as Json);
    expect(await refusal('kb-eval', [file], { options: { root } })).to.deep.include({
      code: 'not_indexed',
      status: 409,
    });
    const empty = join(kb.host.dataDir, 'empty.jsonl');
    await writeFile(empty, '\n');
    expect((await refusal('kb-eval', [empty])).code).to.equal('invalid_evaluation_set');
  });

  it('reports values that only the service can judge as wrong usage', async () => {
    const wrong: readonly (readonly [
      key: string,
      args: readonly string[],
      options: Record<string, string | string[]>,
    ])[] = [
      ['kb-search', ['otter'], { docType: ['nope'] }],
      ['kb-search', ['otter'], { since: 'yesterday' }],
      ['kb-search', ['otter'], { asOf: '2026-02-30' }],
      ['kb-search', [' '], {}],
      ['kb-search', ['otter'], { root: join(kb.host.dataDir, 'nothing') }],
      ['kb-search', ['otter'], { root: kb.root, repo: 'default' }],
      ['kb-refresh', [], { path: ['../elsewhere'] }],
      ['kb-explain', ['kb:nothing'], {}],
      ['kb-inspect', ['chunk_a', 'chunk_b'], {}],
    ];
    for (const [key, args, options] of wrong) {
      const { exitCode, data, text } = await run(key, args, { options });
      const place = `${key} ${JSON.stringify(options)}`;
      expect([exitCode, (data as Json).error], place).to.deep.equal([2, 'usage']);
      expect((data as Json).code, place).to.match(/^invalid_/);
      expect(text, place).to.equal((data as Json).message);
    }
  });

  it('inspects and repairs the passages of one folder', async () => {
    const root = join(kb.host.dataDir, 'notes');
    await mkdir(root);
    await writeFile(join(root, 'n.md'), '# N\n\nA newt rests.\n');
    await complete('kb-refresh', [], { root });
    const { results } = (await run('kb-search', ['newt'], { options: { root } })).data as Json;
    const id = results[0].chunk_id;
    for (const key of ['kb-inspect', 'kb-explain']) {
      expect((await run(key, [id], { options: { root } })).exitCode, key).to.equal(0);
      const error = await run(key, [id], { options: { repo: 'default' } }).catch((refused: unknown) => refused as Json);
      expect(error.code, key).to.equal('chunk_not_found');
    }
    await writeFile(join(root, 'n.md'), '# N\n\nA newt swims.\n');
    const hashes = async (options: Record<string, string>) => {
      const { exitCode, data } = await complete('kb-repair', [], { check: true, deep: true, ...options });
      return [exitCode, (data as Json).checks.find(({ name }: Json) => name === 'file_hashes').found];
    };
    expect(await hashes({ repo: 'default' })).to.deep.equal([0, 0]);
    expect(await hashes({ root })).to.deep.equal([1, 1]);
    expect((await complete('kb-repair', [], { deep: true, root })).exitCode).to.equal(0);
    const { data } = await run('kb-search', ['swims'], { options: { root } });
    expect((data as Json).results).to.have.length(1);
  });

  it('prints a line for each change while it watches, and stops with its caller', async () => {
    const stop = new AbortController();
    let printed = '';
    let resume: string | undefined;
    const step = async (): Promise<void> => {
      const { text, again } = await run('kb-watch', [], {
        ...(resume !== undefined && { resume }),
        signal: stop.signal,
      });
      resume = again?.resume;
      printed += `${text}\n`;
    };
    await step();
    await kb.write('new/c.md', '# C\n\nA stoat runs.\n');
    await until('the change is printed', async () => {
      await step();
      return /default: 1 changed, 0 deleted/.test(printed);
    });
    expect((await kb.search('stoat')).results[0]?.path).to.equal('new/c.md');
    stop.abort();
    await step().catch(() => undefined);
  });

  it('lists, adds and removes repos', async () => {
    const folder = join(kb.host.dataDir, 'second');
    await mkdir(folder);
    await writeFile(join(folder, 'z.md'), '# Z\n\nA zebra stands.\n');
    const names = async (args: readonly string[] = []) =>
      ((await run('kb-repos', args)).data as Json).repos.map(({ name }: Json) => name);
    expect(await names()).to.deep.equal(['default']);
    const change = async (args: readonly string[]) => {
      const { again } = await run('kb-repos', args);
      let changed: Json;
      await until('the repos are changed', async () => {
        changed = await run('kb-repos', args, { resume: again?.resume ?? '' }).catch(() => undefined);
        return changed?.exitCode === 0;
      });
      return changed.data.repos.map(({ name }: Json) => name);
    };
    expect(await change(['add', 'second', folder])).to.deep.equal(['default', 'second']);
    await kb.refresh({ repo: 'second' });
    const coverage = async (options: Record<string, string>) =>
      (await run('kb-embed', ['stats'], { options })).data as Json;
    await kb.ask('POST', '/kb/embeddings/build', { repo: 'second' });
    await until('the vectors of one repo', async () => (await coverage({ repo: 'second' })).coverage === 1);
    expect(await coverage({ repo: 'default' })).to.include({ total: 0, coverage: 0 });
    expect((await coverage({})).total).to.equal(1);
    expect((await kb.search('zebra', { repo: 'second' })).results).to.have.length(1);
    for (const path of [join(folder, 'inner'), kb.host.dataDir]) {
      await mkdir(path, { recursive: true });
      const error = await run('kb-repos', ['add', 'third', path]).catch((refused: unknown) => refused as Json);
      expect(error.message, path).to.match(/is inside the repo "/);
    }
    expect(await names(), 'after refusals').to.deep.equal(['default', 'second']);
    expect(await change(['remove', 'second'])).to.deep.equal(['default']);
    expect((await kb.ask('GET', '/kb/sources')).body.items.map(({ path }: Json) => path)).not.to.include('z.md');
    expect((await kb.ask('POST', '/kb/search', { query: 'zebra', repo: 'second' })).body.error.code).to.equal(
      'repo_not_found',
    );
    const bad = await run('kb-repos', [], { resume: '[]' });
    expect([bad.exitCode, bad.text]).to.deep.equal([1, 'The repos were not changed; the log of the server says why.']);
    expect((await run('kb-repos', ['add', 'x', join(folder, 'nothing')])).exitCode).to.equal(2);
    const unknown = await run('kb-repos', ['remove', 'unknown']).catch((refused: unknown) => refused as Json);
    expect((unknown as Json).code).to.equal('repo_not_found');
  });
});

describe('the tools of the knowledge base over MCP', () => {
  it('are listed when the setting allows it, and find and read passages', async () => {
    const files = { 'a.md': '# A\n\nAn otter swims.\n' };
    const kb = await createKbHost(files, { mcp_tools: true }, { plugins: ['mcp-server'] });
    try {
      await kb.refresh();
      const rpc = async (method: string, params: object): Promise<Json> => {
        const { body } = await kb.ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method, params });
        return body.result;
      };
      const { tools } = await rpc('tools/list', {});
      expect(tools.map(({ name }: Json) => name)).to.include.members(['kb_search', 'kb_read']);
      const call = (name: string, args: object) => rpc('tools/call', { name, arguments: args });
      const found = await call('kb_search', { query: 'otter' });
      const ref = /kb:\S+#L\d+-L\d+/.exec(found.content[0].text)?.[0];
      expect((await call('kb_read', { ref })).content[0].text).to.include('An otter swims.');
      expect(await call('kb_read', { path: '../secret' })).to.include({ isError: true });
    } finally {
      await kb.stop();
    }
  });
});
