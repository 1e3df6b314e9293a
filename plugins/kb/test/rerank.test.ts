import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createKbHost, type KbHost, wrongExplanations } from 'mortise/contracts/kb/testing';
import type { Embedder } from 'mortise/contracts/text-analysis';
import { MortiseError, platformPrincipal } from 'mortise/sdk';
import { type TestPlugin, until } from 'mortise/sdk/testing';
import { rerankScores } from '../service/rerank-hits.js';

describe('the order by keywords and vectors', () => {
  const goldens: readonly (readonly [readonly number[], number, readonly number[], readonly number[]])[] = [
    [[1, 1, 1], 0, [1, 0.444444, 0], [0, 0, 0]],
    [[1, 1, 1], 0.3, [1, 0.611111, 0.3], [0, 0, 0]],
    [[1, 1, 1], 0.7, [1, 0.833333, 0.7], [0, 0, 0]],
    [[0, 0.5, 1], 0.3, [0.7, 0.461111, 0.3], [0, 0, 0]],
    [[0, 0.5, 1], 0.5, [0.5, 0.472222, 0.5], [0, -1, 1]],
    [[0, 0.5, 1], 0.7, [0.3, 0.483333, 0.7], [-2, 0, 2]],
  ];
  for (const [vectors, alpha, scores, deltas] of goldens) {
    it(`is that of the published figures: vectors ${vectors}, alpha ${alpha}`, () => {
      const ordered = rerankScores([10, 5, 1], vectors, alpha);
      for (const [index, { from, finalScore }] of ordered.entries()) {
        expect(finalScore).to.be.closeTo(scores[from] ?? -1, 1e-6);
        expect(from - index).to.equal(deltas[from]);
      }
    });
  }
});

describe('a search with vectors', () => {
  let kb: KbHost;
  let behaviour: Embedder['embed'];
  /** The last document is what every query means. */
  const vector = (text: string): Float32Array =>
    Float32Array.from(text.includes('zeta') || text.startsWith('query') ? [0, 1] : [1, 0]);
  let model = 'one';
  const probe = (): TestPlugin => ({
    manifest: { key: 'embedder-probe', optional: ['text-analysis'], contributes: { embedder: ['probe'] } },
    definition: () => ({
      key: 'embedder-probe',
      register: (host: { contribute: (point: 'embedder', key: string, value: Embedder) => unknown }) =>
        void host.contribute('embedder', 'probe', {
          dimensions: 2,
          model,
          embed: (request, ctx) => behaviour(request, ctx),
        }),
    }),
  });
  const rerank = { enabled: true, embedder: 'probe', candidate_k: 10, alpha: 0.7, timeout_ms: 1_500 };

  beforeEach(async () => {
    model = 'one';
    behaviour = async ({ texts }) => texts.map(vector);
    const words = ['alpha', 'beta', 'gamma', 'delta', 'zeta'];
    const files = Object.fromEntries(
      words.map((word, index) => [`${word}.md`, `# ${word}\n\n${'query '.repeat(6 - index)}${word} text\n`]),
    );
    kb = await createKbHost(files, { rerank }, { plugins: ['logbook'], extra: [probe()] });
    await kb.refresh();
  });
  afterEach(() => kb.stop());

  const audited = async () => {
    const { rows } = await kb.host.service('audit').query({ operation: 'kb:search' });
    return rows.map(({ reason }) => reason);
  };

  it('reorders the hits of keywords and explains it', async () => {
    const keyword = await kb.search('query', { rerank: false });
    const hybrid = await kb.search('query');
    expect([keyword.mode, hybrid.mode]).to.deep.equal(['keyword', 'hybrid']);
    expect(keyword.results[0]?.path).to.equal('alpha.md');
    expect(hybrid.results[0]?.path).to.equal('zeta.md');
    expect(hybrid.results[0]?.explanation).to.include({ alpha: 0.7, final_rank: 1, vector_score: 1, rerank_delta: 4 });
    expect(wrongExplanations(hybrid)).to.deep.equal([]);
    expect(hybrid.results).to.have.length(keyword.results.length);
  });

  it('keeps the order of keywords while vectors are missing', async () => {
    behaviour = async () => {
      throw new Error('no');
    };
    for (const name of ['eta', 'theta']) await kb.write(`${name}.md`, `# ${name}\n\nquery ${name}\n`);
    expect((await kb.refresh()).embeddings?.errors).to.equal(2);
    behaviour = async ({ texts }) => texts.map(vector);
    const answer = await kb.search('query');
    expect([answer.mode, answer.degraded?.code, answer.degraded?.hint]).to.deep.equal([
      'keyword',
      'embedding_coverage_low',
      'mortise kb embed build',
    ]);
    await kb.refresh();
    expect((await kb.search('query')).mode).to.equal('hybrid');
  });

  const failures: Readonly<Record<string, Embedder['embed']>> = {
    throws: async () => {
      throw new Error('down');
    },
    hangs: (_request, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    'gives NaN': async ({ texts }) => texts.map(() => Float32Array.from([Number.NaN, 1])),
    'gives the wrong length': async ({ texts }) => texts.map(() => Float32Array.from([1])),
    'gives too few': async () => [],
    'gives null': async ({ texts }) => texts.map(() => [null, 1] as unknown as Float32Array),
  };
  for (const [name, failing] of Object.entries(failures)) {
    it(`answers by keywords when the embedder ${name}, with one audit row at the beginning and one at the end`, async () => {
      behaviour = failing;
      for (let round = 0; round < 3; round += 1) {
        const answer = await kb.search(`query ${name} ${round}`);
        expect([answer.mode, answer.degraded?.code, answer.results.length]).to.deep.equal([
          'keyword',
          'embedder_unavailable',
          5,
        ]);
      }
      expect(await audited()).to.deep.equal(['kb:embedder_unavailable']);
      behaviour = async ({ texts }) => texts.map(vector);
      expect((await kb.search('query again')).mode).to.equal('hybrid');
      expect((await audited()).sort()).to.deep.equal(['kb:embedder_available', 'kb:embedder_unavailable']);
    });
  }

  it('says why the embedder gave no vector', async () => {
    behaviour = async () => {
      throw new MortiseError('upstream_gone', 'The server of the embedder is gone.');
    };
    const { degraded } = await kb.search('query of which no vector is known');
    expect(degraded?.message).to.contain('gave no vector: The server of the embedder is gone (upstream_gone);');
    expect(degraded?.hint).to.equal('mortise plugin inspect embedder-probe');
    behaviour = async ({ texts }) => texts.map(vector);
  });

  it('answers by keywords while the plugin of the embedder is disabled', async () => {
    await kb.host.control.disable('embedder-probe');
    const answer = await kb.search('query');
    expect([answer.mode, answer.degraded?.code]).to.deep.equal(['keyword', 'embedder_unavailable']);
    expect(answer.degraded?.hint).to.equal('mortise plugin enable embedder-probe');
    const built = await kb.ask('POST', '/kb/embeddings/build', {});
    const job = async () => (await kb.ask('GET', `/kb/jobs/${built.body.job.id}`)).body;
    await until('the job has ended', async () => (await job()).ended_at !== null);
    expect((await job()).error).to.include({ code: 'embedder_unavailable' });
  });
  it('embeds everything again for another model, and uses no vector of the old one', async () => {
    expect((await kb.search('query')).mode).to.equal('hybrid');
    model = 'two';
    behaviour = async ({ texts }) => texts.map((text) => vector(text).reverse());
    await kb.host.control.disable('embedder-probe');
    await kb.host.control.enable('embedder-probe');
    expect((await kb.search('query')).degraded?.code).to.equal('embedding_coverage_low');
    expect((await kb.refresh()).embeddings).to.include({ built: 5, errors: 0 });
    const { embeddings } = (await kb.ask('GET', '/kb/stats')).body;
    expect(embeddings).to.include({ model: 'two', total: 5, coverage: 1 });
    expect((await kb.search('query')).mode).to.equal('hybrid');
  });

  it('finds what is saved while texts are embedded', async () => {
    const { promise: mayEmbed, resolve: letEmbed } = Promise.withResolvers<void>();
    behaviour = async ({ texts, kind }) => {
      if (kind === 'document') await mayEmbed;
      return texts.map(vector);
    };
    const jobOf = async (started: Awaited<ReturnType<KbHost['ask']>>) =>
      (await kb.ask('GET', `/kb/jobs/${started.body.job.id}`)).body;
    const refresh = async (name: string) => {
      await kb.write(`${name}.md`, `# ${name}\n\nThe ${name} is new.\n`);
      const started = await kb.ask('POST', '/kb/refresh', {});
      expect(started.status, JSON.stringify(started.body)).to.equal(202);
      return started;
    };
    const first = await refresh('eta');
    await until('the first refresh embeds', async () => (await jobOf(first)).phase === 'embed');
    const second = await refresh('theta');
    await until('the second file is found', async () => {
      const { results } = await kb.search('theta', { rerank: false });
      return results[0]?.path === 'theta.md';
    });
    expect([(await jobOf(first)).state, (await jobOf(second)).state]).to.deep.equal(['running', 'running']);
    letEmbed();
    await until('both have ended', async () => (await jobOf(second)).ended_at !== null);
    const built = await Promise.all(
      [first, second].map(async (started) => (await jobOf(started)).report.embeddings.built),
    );
    expect(built[0] + built[1]).to.equal(2);
    expect((await kb.ask('GET', '/kb/stats')).body.embeddings.coverage).to.equal(1);
  });

  describe('that is evaluated', () => {
    const evaluate = async (path: string, options: Readonly<Record<string, unknown>> = {}) => {
      const asked = (resume?: string) =>
        kb.host.points.call(
          'command',
          'kb-eval',
          (command, ctx) =>
            command.run({ args: [path], options: { ...options }, ...(resume ? { resume } : {}) } as never, ctx),
          { principal: platformPrincipal },
        );
      let result = await asked();
      while (result.again) result = await asked(result.again.resume);
      return result.data as { metrics: Record<string, number>; rerank?: object };
    };
    const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

    it('orders the answers to a set of its own by vectors, or by keywords alone', async () => {
      const folder = join(kb.host.dataDir, 'set');
      await mkdir(folder);
      const texts = ['alpha query query query', 'beta query query', 'zeta query'];
      await writeFile(join(folder, 'corpus.jsonl'), lines(texts.map((text, index) => ({ _id: `d${index}`, text }))));
      await writeFile(join(folder, 'queries.jsonl'), lines([{ _id: 'q', text: 'query' }]));
      await writeFile(join(folder, 'qrels.tsv'), 'q\td2\t1\n');
      const keyword = await evaluate(folder, { rerank: false });
      expect([keyword.metrics['mrr@10'], keyword.rerank]).to.deep.equal([1 / 3, undefined]);
      const hybrid = await evaluate(folder, { rerank: true });
      expect(hybrid.metrics['mrr@10']).to.equal(1);
      expect(hybrid.rerank).to.deep.equal({ embedder: 'probe', model: 'one', alpha: 0.7 });
      expect(await evaluate(folder)).to.deep.include({ rerank: hybrid.rerank });
    });

    it('asks the index with and without vectors', async () => {
      const file = join(kb.host.dataDir, 'queries.jsonl');
      await writeFile(file, lines([{ query: 'query', expected_paths: ['zeta.md'] }]));
      expect((await evaluate(file, { rerank: false })).metrics['mrr@10']).to.equal(1 / 5);
      expect((await evaluate(file, { rerank: true })).metrics['mrr@10']).to.equal(1);
    });

    it('fails where vectors are asked for and there are none, instead of measuring something else', async () => {
      const folder = join(kb.host.dataDir, 'set');
      await mkdir(folder);
      const file = join(kb.host.dataDir, 'queries.jsonl');
      await writeFile(file, lines([{ query: 'query of nobody', expected_paths: ['zeta.md'] }]));
      await kb.host.control.disable('embedder-probe');
      for (const path of [folder, file]) {
        const error = await evaluate(path, { rerank: true }).catch((refused: unknown) => refused);
        expect(error).to.include({ code: 'embedder_unavailable' });
      }
    });
  });
});
