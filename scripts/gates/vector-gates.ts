import { wrongExplanations } from 'mortise/contracts/kb/testing';
import { expectThat, type Gate, type Lab } from './gate.js';

const animals = ['otter', 'badger', 'heron', 'lynx', 'marten', 'stoat', 'weasel', 'hare'];
const documents = Object.fromEntries(
  animals.map((animal, index) => [
    `docs/${animal}.md`,
    `# The ${animal}\n\nThe ${animal} lives near water ${'and trees '.repeat(index)}.\n`,
  ]),
);
const rerank = { rerank: { enabled: true, embedder: 'hashed', timeout_ms: 30_000 } };
const withVectors = { plugins: ['logbook', 'embedder-hashed'] };

async function boot(lab: Lab) {
  const kb = await lab.boot(documents, rerank, withVectors);
  await kb.refresh();
  return kb;
}

const coverage: Gate = {
  id: 'E1',
  title: 'Embedding Coverage',
  check: async (lab) => {
    const kb = await boot(lab);
    await lab.disturb(kb);
    const { degraded } = await kb.search('water trees');
    const share = Number(
      lab.sql(
        kb,
        `select 1.0 * count(*) / (select count(distinct content_hash) from kb_chunks) from kb_embeddings`,
      )[0]?.[0],
    );
    const shown = `${(share * 100).toFixed(1)}%`;
    expectThat(share >= 0.95 && degraded === undefined, `coverage ${shown} < 95%`, 'Run mortise kb embed build.');
    return `coverage ${shown} >= 95%`;
  },
};

const fields = ['keyword_score', 'vector_score', 'alpha', 'final_score', 'rerank_delta', 'final_rank'] as const;

const explanations: Gate = {
  id: 'E2',
  title: 'Explain Completeness (Vector)',
  check: async (lab) => {
    const kb = await boot(lab);
    await lab.disturb(kb);
    const answer = await kb.search('water trees');
    expectThat(answer.results.length > 0, 'nothing was found');
    for (const { explanation } of answer.results) {
      for (const name of fields)
        expectThat(typeof explanation?.[name] === 'number', `${name} is missing`, 'Run mortise kb embed build.');
    }
    const wrong = wrongExplanations(answer);
    expectThat(wrong.length === 0, `explanations do not recompute: ${wrong.join(', ')}`);
    return 'all explain fields present';
  },
};

const determinism: Gate = {
  id: 'E3',
  title: 'Determinism',
  check: async (lab) => {
    const kb = await boot(lab);
    const ask = async () => JSON.stringify((await kb.search('lives near trees', { as_of: '2026-01-01' })).results);
    const first = await ask();
    await lab.disturb(kb);
    for (let round = 0; round < 5; round += 1) expectThat((await ask()) === first, 'repeated searches differ');
    return 'six equal answers';
  },
};

const fallback: Gate = {
  id: 'E4',
  title: 'Graceful Fallback',
  check: async (lab) => {
    const kb = await boot(lab);
    const { results: expected } = await kb.search('water trees', { rerank: false });
    await kb.host.control.disable('embedder-hashed');
    await lab.disturb(kb);
    const answer = await kb.search('water trees');
    expectThat(
      answer.mode === 'keyword' && answer.degraded?.code === 'embedder_unavailable',
      'the answer does not report missing vectors',
    );
    expectThat(
      JSON.stringify(answer.results.map(({ path }) => path)) === JSON.stringify(expected.map(({ path }) => path)),
      'the answer differs from that of the keyword search',
    );
    const { rows } = await kb.host.service('audit').query({ reasonPrefix: 'kb:embedder_unavailable' });
    expectThat(rows.length === 1, `${rows.length} audit rows instead of one`, 'Enable the plugin logbook.');
    return 'keyword search answers, and the audit trail has a row';
  },
};

const incremental: Gate = {
  id: 'E5',
  title: 'Incremental Consistency',
  check: async (lab) => {
    const kb = await boot(lab);
    const hashes = () =>
      lab.sql(kb, 'select hex(content_hash) from kb_embeddings order by 1').map(([hash]) => String(hash));
    const before = hashes();
    await kb.write('docs/otter.md', '# The otter\n\nThe otter sleeps on its back.\n');
    await kb.refresh();
    await lab.disturb(kb);
    const contents = lab
      .sql(kb, 'select distinct hex(content_hash) from kb_chunks order by 1')
      .map(([hash]) => String(hash));
    const after = hashes();
    expectThat(
      JSON.stringify(after) === JSON.stringify(contents),
      'vectors and contents differ after a change',
      'Run mortise kb embed build.',
    );
    expectThat(
      after.filter((hash) => !before.includes(hash)).length === 1,
      'more than the changed document was embedded',
    );
    return 'one new vector, none without content';
  },
};

const limits: Gate = {
  id: 'E6',
  title: 'Performance Threshold',
  check: async (lab) => {
    const kb = await boot(lab);
    await lab.disturb(kb);
    const refusal = await kb.host.control.configure(lab.configured, { rerank: { candidate_k: 101 } }).then(
      () => undefined,
      (error: { readonly code?: string; readonly details?: unknown }) => error,
    );
    expectThat(refusal?.code === 'invalid_config', 'candidate_k 101 was accepted', 'Limit candidate_k to 100.');
    expectThat(JSON.stringify(refusal.details).includes('candidate_k'), 'the refusal does not name candidate_k');
    expectThat((await kb.search('water trees')).mode === 'hybrid', 'the old configuration is not in force');
    return 'candidate_k <= 100';
  },
};

export const vectorGates: readonly Gate[] = [coverage, explanations, determinism, fallback, incremental, limits];
