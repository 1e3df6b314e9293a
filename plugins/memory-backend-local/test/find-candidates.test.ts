import { expect } from 'chai';
import * as fc from 'fast-check';
import { byWeight } from '../search/find-candidates.js';
import { type Scored, scoreLikeliest } from '../search/score-documents.js';

describe('the order of candidates', () => {
  it('is by the sum of weights, and the newest first among equals', () => {
    const lists = [
      { seqs: [7, 3, 1], weight: 2 },
      { seqs: [9, 7], weight: 3 },
      { seqs: [8, 3], weight: 1 },
    ];
    expect(byWeight(lists)).to.deep.equal([7, 9, 3, 1, 8]);
    expect(byWeight([])).to.deep.equal([]);
  });

  it('has every memory once, and none before one that is worth more', () => {
    const list = fc.record({
      seqs: fc
        .uniqueArray(fc.integer({ min: 1, max: 50 }), { maxLength: 20 })
        .map((seqs) => seqs.sort((one, other) => other - one)),
      weight: fc.double({ min: 0.01, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(list, { maxLength: 65 }), (lists) => {
        const ordered = byWeight(lists);
        expect([...ordered].sort()).to.deep.equal([...new Set(lists.flatMap(({ seqs }) => seqs))].sort());
        const weigh = (seq: number) =>
          lists.reduce((sum, { seqs, weight }) => sum + (seqs.includes(seq) ? weight : 0), 0);
        const weights = ordered.map(weigh);
        for (const [index, weight] of weights.entries()) {
          expect(weight).to.be.at.most((weights[index - 1] ?? Number.POSITIVE_INFINITY) + 1e-9);
        }
      }),
    );
  });
});

describe('scoring the likeliest candidates', () => {
  // Of memories that score alike the newest comes first, in the candidates as in the hits.
  const candidates = Array.from({ length: 1_000 }, (_, index) => 1_000 - index);
  const parts = { bm25: 0, coverage: 0, phrase: 0, matched_terms: [] };
  const scoredBy = (score: (place: number) => number) => async (seqs: readonly number[]) =>
    seqs.map((seq): Scored => ({ seq, memoryId: String(seq), score: score(1_000 - seq), parts }));

  it('ends when fifty in a row have none of the best', async () => {
    const falling = scoredBy((place) => 1 / (place + 1));
    const { scored, read } = await scoreLikeliest(candidates, 10, falling);
    expect(read).to.equal(75);
    expect(scored.slice(0, 10).map(({ seq }) => seq)).to.deep.equal(candidates.slice(0, 10));
  });

  it('goes on while a page has one of the best', async () => {
    const rising = scoredBy((place) => Math.min(place, 120));
    const { scored, read } = await scoreLikeliest(candidates, 1, rising);
    expect(read).to.equal(175);
    expect(scored[0]?.seq).to.equal(1_000 - 120);
  });

  it('takes pages without a readable memory for no sign of the end', async () => {
    const all = scoredBy((place) => place);
    const hidden = async (seqs: readonly number[]) =>
      (await all(seqs)).filter(({ score }) => score < 10 || score >= 300);
    const { scored } = await scoreLikeliest(candidates, 10, hidden);
    expect(scored[0]?.score).to.be.at.least(300);
  });

  it('reads a bounded number even where every one may be refused yet', async () => {
    const { read } = await scoreLikeliest(
      candidates,
      Number.POSITIVE_INFINITY,
      scoredBy(() => 0.5),
    );
    expect(read).to.equal(400);
  });
});
