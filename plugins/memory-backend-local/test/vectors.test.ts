import { expect } from 'chai';
import { cosine } from 'mortise/contracts/text-analysis';
import { blend } from '../vectors.js';

const hit = (id: string, score: number) => ({ id, content: id, score });

describe('scores of words and vectors', () => {
  it('are scaled from the worst to the best hit, and weighted equally', () => {
    const hits = [hit('a', 0.9), hit('b', 0.5), hit('c', 0.1)];
    expect(blend(hits, [0.2, 0.8, 0.6])).to.deep.equal(
      [
        { ...hit('b', 0.5), score: 0.5 * 0.5 + 0.5 * 1 },
        { ...hit('a', 0.9), score: 0.5 * 1 + 0.5 * 0 },
        { ...hit('c', 0.1), score: 0.5 * 0 + 0.5 * ((0.6 - 0.2) / (0.8 - 0.2)) },
      ].sort((a, b) => b.score - a.score),
    );
  });

  it('do not reorder equal hits', () => {
    expect(blend([hit('a', 0.4), hit('b', 0.4)], [0.1, 0.1]).map(({ id, score }) => [id, score])).to.deep.equal([
      ['a', 1],
      ['b', 1],
    ]);
    expect(blend([], [])).to.deep.equal([]);
  });

  it('explain a score so that it can be recomputed', () => {
    const explain = { bm25: 0.5, coverage: 0.5, phrase: 0, matched_terms: ['x'] };
    for (const { score, explain: explained } of blend(
      [0.9, 0.3, 0.2].map((words, n) => ({ ...hit(String(n), words), explain })),
      [0.1, 0.9, 0.4],
    )) {
      expect(0.5 * (explained?.lexical ?? 0) + 0.5 * (explained?.vector ?? 0)).to.be.closeTo(score, 1e-9);
      expect(explained).to.deep.include(explain);
    }
  });

  it('use the cosine of vectors, whatever their length', () => {
    const vector = (...numbers: number[]) => Float32Array.from(numbers);
    expect(cosine(vector(1, 0), vector(5, 0))).to.equal(1);
    expect(cosine(vector(1, 0), vector(0, 2))).to.equal(0);
    expect(cosine(vector(1, 1), vector(-1, -1))).to.be.closeTo(-1, 1e-9);
    expect(cosine(vector(0, 0), vector(1, 1))).to.equal(0);
  });
});
