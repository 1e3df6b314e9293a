import { expect } from 'chai';
import { planCandidates } from '../search/plan-candidates.js';

const term = (name: string, df: number, place = 0) => ({ term: name, df, place });

describe('the plan for candidates', () => {
  it('ranks all matches while they are few, and keeps common terms for want of others', () => {
    const plan = planCandidates([term('rare', 10, 0), term('common', 300, 1)], [], ['s'], 1_000);
    expect(plan.first).to.deep.equal([{ query: { spaceTerms: ['s'], all: [['rare']] }, order: 'rank' }]);
    expect(plan.then.at(-1)).to.deep.equal({
      query: { spaceTerms: ['s'], all: [['rare', 'common']] },
      order: 'newest',
    });
  });

  it('looks for memories with all words, and for the rarest, where ranking would cost too much', () => {
    const terms = [term('a', 100, 0), term('b', 9_000, 1), term('c', 8_000, 2)];
    const plan = planCandidates(terms, [], ['s'], 100_000);
    expect(plan.first.map(({ query, order }) => [order, query.all])).to.deep.equal([
      ['rank', [['a']]],
      ['newest', [['a'], ['c'], ['b']]],
      ['newest', [['a'], ['c']]],
    ]);
  });

  it('takes the variants of a word for one', () => {
    const terms = [term('deploy', 5_000, 0), term('deploying', 2_000, 0), term('node', 9_000, 1)];
    const all = planCandidates(terms, [], ['s'], 100_000).first.map(({ query }) => query.all);
    expect(all).to.deep.equal([[['deploy', 'deploying'], ['node']]]);
  });

  it('always demands the terms of quoted phrases', () => {
    const plan = planCandidates([term('a', 1)], ['q', 'r'], ['s'], 10);
    for (const { query } of [...plan.first, ...plan.then]) expect(query.all.slice(0, 2)).to.deep.equal([['q'], ['r']]);
  });

  it('asks nothing when no memory has any of the terms', () => {
    expect(planCandidates([term('a', 0)], [], ['s'], 10)).to.deep.equal({ first: [], then: [] });
  });

  it('never plans to rank more matches than it can afford', () => {
    for (const df of [1, 100, 1_500, 1_501, 19_000, 90_000]) {
      const terms = [term('a', df, 0), term('b', df, 1)];
      for (const { query, order } of planCandidates(terms, [], ['s'], 100_000).first) {
        if (order === 'rank') expect(query.all.flat().length * df).to.be.at.most(1_500);
      }
    }
  });
});
