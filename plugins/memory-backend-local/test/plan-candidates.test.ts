import { expect } from 'chai';
import { planCandidates } from '../search/plan-candidates.js';
import { maxListLength } from '../search/term-lists.js';

/** A term of a word in the query; variants of one word have its range. */
const term = (engineTerm: string, df: number, word = 0, width = 3) => ({
  engineTerm,
  df,
  isListed: df <= maxListLength,
  start: word * 10,
  end: word * 10 + width,
});
const names = (terms: readonly { readonly engineTerm: string }[]) => terms.map(({ engineTerm }) => engineTerm);

describe('the plan for candidates', () => {
  it('selects by rare terms, and by common ones only as a fallback', () => {
    const plan = planCandidates([term('rare', 10, 0), term('rarer', 5, 1), term('common', 300, 2)], [], ['s'], 1_000);
    expect(names(plan.selecting)).to.deep.equal(['rare', 'rarer']);
    expect(plan.newest).to.equal(undefined);
    expect(plan.then).to.deep.equal([{ spaceTerms: ['s'], all: [['rare', 'rarer', 'common']] }]);
  });

  it('selects by listed terms, and by all words when some terms are not listed', () => {
    const terms = [term('a', 100, 0), term('b', 9_000, 1), term('c', 8_000, 2)];
    const { selecting, newest, then } = planCandidates(terms, [], ['s'], 100_000);
    expect(names(selecting)).to.deep.equal(['a']);
    expect(newest?.all).to.deep.equal([['a'], ['c'], ['b']]);
    expect(then.map(({ all }) => all)).to.deep.equal([[['a'], ['c']], [['a', 'b', 'c']]]);
  });

  it('uses the longer of terms that start together, and the more frequent variant of a word', () => {
    const terms = [
      term('file', 3_000, 0, 4),
      term('file_hash', 2_000, 0, 9),
      { engineTerm: 'hash', df: 5_000, isListed: false, start: 5, end: 9 },
      term('deploying', 2_000, 1, 9),
      term('deploy', 5_000, 1, 9),
    ];
    const { newest } = planCandidates(terms, [], ['s'], 100_000);
    expect(newest?.all).to.deep.equal([['file_hash'], ['deploy']]);
  });

  it('ignores a term that no memory has', () => {
    const terms = [term('wide', 0, 0, 9), term('narrow', 5_000, 0, 4), term('other', 4_000, 1)];
    const { newest } = planCandidates(terms, [], ['s'], 100_000);
    expect(newest?.all).to.deep.equal([['other'], ['narrow']]);
  });

  it('always requires the terms of quoted phrases', () => {
    for (const df of [1, 9_000]) {
      const { newest, then } = planCandidates([term('a', df), term('b', df, 1)], ['q', 'r'], ['s'], 10_000);
      const queries = [...(newest === undefined ? [] : [newest]), ...then];
      expect(queries).to.have.length(df === 1 ? 0 : 2);
      for (const { all } of queries) expect(all.slice(0, 2)).to.deep.equal([['q'], ['r']]);
    }
  });

  it('is empty when no memory has any of the terms', () => {
    expect(planCandidates([term('a', 0)], [], ['s'], 10)).to.deep.equal({ selecting: [], newest: undefined, then: [] });
  });

  it('ends with every known term, so that no match is missed', () => {
    for (const df of [1, 500, 1_500, 19_000, 90_000]) {
      const terms = [term('a', df, 0), term('b', 100_000, 1)];
      expect(planCandidates(terms, [], ['s'], 100_000).then.at(-1)?.all).to.deep.equal([['a', 'b']]);
    }
  });
});
