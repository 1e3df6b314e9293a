import { expect } from 'chai';
import { planCandidates } from '../search/plan-candidates.js';

/** A term of a word in the query; variants of one word have its range. */
const term = (name: string, df: number, word = 0, width = 3) => ({
  term: name,
  df,
  start: word * 10,
  end: word * 10 + width,
});

describe('the plan for candidates', () => {
  it('ranks all matches while they are few, and keeps common terms for want of others', () => {
    const plan = planCandidates([term('rare', 10, 0), term('common', 300, 1)], [], ['s'], 1_000);
    expect(plan.first).to.deep.equal([{ query: { spaceTerms: ['s'], all: [['rare']] }, order: 'rank' }]);
    expect(plan.then.at(-1)).to.deep.equal({
      query: { spaceTerms: ['s'], all: [['rare', 'common']] },
      order: 'newest',
    });
  });

  it('looks for the rarest, and for memories with all words, where ranking would cost too much', () => {
    const terms = [term('a', 100, 0), term('b', 9_000, 1), term('c', 8_000, 2)];
    const { first, then } = planCandidates(terms, [], ['s'], 100_000);
    expect(first.map(({ query, order }) => [order, query.all])).to.deep.equal([
      ['rank', [['a']]],
      ['newest', [['a'], ['c'], ['b']]],
    ]);
    expect(then.map(({ query }) => query.all)).to.deep.equal([[['a'], ['c']], [['a', 'b', 'c']]]);
  });

  it('takes the wider of terms that begin together, and the commoner of variants of a word', () => {
    const terms = [
      term('file', 3_000, 0, 4),
      term('file_hash', 2_000, 0, 9),
      { term: 'hash', df: 4_000, start: 5, end: 9 },
      term('deploying', 2_000, 1, 9),
      term('deploy', 5_000, 1, 9),
    ];
    const [all] = planCandidates(terms, [], ['s'], 100_000).first;
    expect(all?.query.all).to.deep.equal([['file_hash'], ['deploy']]);
  });

  it('does without a term that no memory has', () => {
    const terms = [term('wide', 0, 0, 9), term('narrow', 5_000, 0, 4), term('other', 4_000, 1)];
    const [all] = planCandidates(terms, [], ['s'], 100_000).first;
    expect(all?.query.all).to.deep.equal([['other'], ['narrow']]);
  });

  it('always demands the terms of quoted phrases', () => {
    const plan = planCandidates([term('a', 1)], ['q', 'r'], ['s'], 10);
    for (const { query } of [...plan.first, ...plan.then]) expect(query.all.slice(0, 2)).to.deep.equal([['q'], ['r']]);
  });

  it('asks nothing when no memory has any of the terms', () => {
    expect(planCandidates([term('a', 0)], [], ['s'], 10)).to.deep.equal({ first: [], then: [] });
  });

  it('asks for every known term in the end, so that no match is passed over', () => {
    for (const df of [1, 500, 1_500, 19_000, 90_000]) {
      const terms = [term('a', df, 0), term('b', 100_000, 1)];
      const { first, then } = planCandidates(terms, [], ['s'], 100_000);
      expect([...first, ...then].at(-1)?.query.all).to.deep.equal([['a', 'b']]);
    }
  });

  it('never plans to rank more matches than it can afford', () => {
    for (const df of [1, 100, 1_000, 1_001, 19_000, 90_000]) {
      const terms = [term('a', df, 0), term('b', df, 1)];
      for (const { query, order } of planCandidates(terms, [], ['s'], 100_000).first) {
        if (order === 'rank') expect(query.all.flat().length * df).to.be.at.most(1_000);
      }
    }
  });
});
