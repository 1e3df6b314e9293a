import { readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { wrongExplanations } from 'mortise/contracts/kb/testing';
import { expectThat, type Gate } from './gate.js';

const text = '# Auth\n\nJWT tokens carry auth claims. A token expires.\n';
const documents = { 'docs/adr/auth.md': text, 'docs/auth.md': text, 'docs/y/README.md': text };

const explanations: Gate = {
  id: 'D10',
  title: 'Explanation Completeness',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    await kb.refresh();
    await lab.disturb(kb);
    const answer = await kb.search('JWT auth token');
    expectThat(answer.results.length === 3, `${answer.results.length} of 3 documents were found`);
    for (const { explanation: own, lines } of answer.results) {
      expectThat(own !== undefined, 'a hit has no explanation');
      expectThat(own.path in documents, `the path ${own.path} does not exist`);
      expectThat(own.heading === null || typeof own.heading === 'string', 'the heading is missing');
      expectThat(/^L\d+-L\d+$/.test(own.lines) && own.lines === lines, 'the lines are missing');
      expectThat(
        own.matched_terms.length > 0 && Object.keys(own.term_frequencies).length > 0,
        'the matched terms are missing',
      );
      for (const name of ['score', 'bm25_score', 'document_boost', 'recency_boost'] as const) {
        expectThat(Number.isFinite(own[name]), `${name} is missing`);
      }
    }
    const wrong = wrongExplanations(answer);
    expectThat(wrong.length === 0, `explanations do not recompute: ${wrong.join(', ')}`);
    return 'Path, heading, lines, BM25 and boosts in every hit';
  },
};

const boosts: Gate = {
  id: 'D11',
  title: 'Explainable Weights',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    const old = new Date(Date.now() - 30 * 86_400_000);
    await utimes(join(kb.root, 'docs/auth.md'), old, old);
    await kb.refresh();
    await lab.disturb(kb);
    const { results } = await kb.search('auth');
    const expected: Readonly<Record<string, readonly [number, number]>> = {
      'docs/adr/auth.md': [1.5, 1.5],
      'docs/auth.md': [1, 1.18394],
      'docs/y/README.md': [0.3, 1.5],
    };
    for (const { path, explanation } of results) {
      const [document = 0, recency = 0] = expected[path] ?? [];
      expectThat(
        explanation?.document_boost === document,
        `document_boost of ${path} is ${explanation?.document_boost}, not ${document}`,
      );
      expectThat(
        Math.abs((explanation?.recency_boost ?? 0) - recency) < 1e-5,
        `recency_boost of ${path} is ${explanation?.recency_boost}, not ${recency}`,
      );
    }
    expectThat(results.length === 3, 'a document was not found');
    return 'document_boost and recency_boost in every explanation';
  },
};

const refs: Gate = {
  id: 'D12',
  title: 'Evidence Format',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    await kb.refresh();
    await lab.disturb(kb);
    const { results } = await kb.search('JWT');
    expectThat(results.length === 3, 'a document was not found');
    for (const { evidence_ref: ref, path } of results) {
      expectThat(/^kb:chunk_[0-9a-f]{16}:.+#L[0-9]+-L[0-9]+$/.test(ref), `${ref} has the wrong format`);
      const { body } = await kb.ask('GET', `/kb/evidence?ref=${encodeURIComponent(ref)}`);
      expectThat(body.state === 'current', `${ref} is ${body.state}`);
      expectThat((await readFile(join(kb.root, path), 'utf8')).includes(body.lines), `${ref} cites other lines`);
    }
    return 'kb:<chunk_id>:<path>#L<start>-L<end>, and it can be resolved';
  },
};

export const searchGates: readonly Gate[] = [explanations, boosts, refs];
