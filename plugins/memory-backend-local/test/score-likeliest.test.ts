import { expect } from 'chai';
import { type Scored, scoreLikeliest } from '../search/score-documents.js';

describe('scoring the likeliest candidates', () => {
  // Of memories that score alike the newest comes first, in the candidates as in the hits.
  const candidates = Array.from({ length: 1_000 }, (_, index) => 1_000 - index);
  const ranked = (bound: (place: number) => number) => ({
    seqs: Uint32Array.from(candidates),
    bounds: Float64Array.from(candidates, (_, place) => bound(place)),
    isComplete: true,
  });
  const boundless = ranked(() => Number.POSITIVE_INFINITY);
  const parts = { bm25: 0, coverage: 0, phrase: 0, matched_terms: [] };
  const scoredBy = (score: (place: number) => number) => async (seqs: readonly number[]) =>
    seqs.map((seq): Scored => ({ seq, memoryId: String(seq), conversation: null, score: score(1_000 - seq), parts }));

  it('ends when no other can be among the best', async () => {
    const score = (place: number) => 1 / (place + 1);
    const exact = await scoreLikeliest(ranked(score), 10, 0, scoredBy(score));
    expect(exact.read).to.equal(12);
    expect(exact.scored.slice(0, 10).map(({ seq }) => seq)).to.deep.equal(candidates.slice(0, 10));
    const loose = await scoreLikeliest(
      ranked(score),
      10,
      0.08,
      scoredBy((place) => (place === 35 ? 0.105 : score(place))),
    );
    expect(loose.scored[9]?.seq).to.equal(1_000 - 35);
  });

  it('ends after thirty-six consecutive candidates without a better hit', async () => {
    const falling = scoredBy((place) => 1 / (place + 1));
    const { scored, read } = await scoreLikeliest(boundless, 10, 0, falling);
    expect(read).to.equal(48);
    expect(scored.slice(0, 10).map(({ seq }) => seq)).to.deep.equal(candidates.slice(0, 10));
  });

  it('continues while a page has a better hit', async () => {
    const rising = scoredBy((place) => Math.min(place, 120));
    const { scored, read } = await scoreLikeliest(boundless, 1, 0, rising);
    expect(read).to.equal(168);
    expect(scored[0]?.seq).to.equal(1_000 - 120);
  });

  it('does not count pages without a readable memory toward the end', async () => {
    const all = scoredBy((place) => place);
    const hidden = async (seqs: readonly number[]) =>
      (await all(seqs)).filter(({ score }) => score < 10 || score >= 300);
    const { scored } = await scoreLikeliest(boundless, 10, 0, hidden);
    expect(scored[0]?.score).to.be.at.least(300);
  });

  it('reads a limited number even when all of them may be filtered out', async () => {
    const { read } = await scoreLikeliest(
      ranked(() => 0),
      Number.POSITIVE_INFINITY,
      0,
      scoredBy(() => 0.5),
    );
    expect(read).to.equal(408);
  });
});
