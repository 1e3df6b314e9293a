import { expect } from 'chai';
import { MOST_LISTED, planCandidates } from '../search/plan-candidates.js';

/** A term of a word in the query; variants of one word have its range. */
const term = (name: string, df: number, word = 0, width = 3) => ({
  term: name,
  df,
  idf: 1_000 / df,
  start: word * 10,
  end: word * 10 + width,
});

describe('the plan for candidates', () => {
  it('lists all matches of rare terms by their weight, and keeps common terms for want of others', () => {
    const plan = planCandidates([term('rare', 10, 0), term('rarer', 5, 1), term('common', 300, 2)], [], ['s'], 1_000);
    expect(plan.complete).to.deep.equal([
      { query: { spaceTerms: ['s'], all: [['rarer']] }, weight: 200 },
      { query: { spaceTerms: ['s'], all: [['rare']] }, weight: 100 },
    ]);
    expect(plan.newest).to.deep.equal([]);
    expect(plan.then).to.deep.equal([{ spaceTerms: ['s'], all: [['rare', 'rarer', 'common']] }]);
  });

  it('lists the rarest, and looks for memories with all words, where listing would cost too much', () => {
    const terms = [term('a', 100, 0), term('b', 9_000, 1), term('c', 8_000, 2)];
    const { complete, newest, then } = planCandidates(terms, [], ['s'], 100_000);
    expect(complete.map(({ query }) => query.all)).to.deep.equal([[['a']]]);
    expect(newest.map(({ query }) => query.all)).to.deep.equal([[['a'], ['c'], ['b']]]);
    expect(then.map(({ all }) => all)).to.deep.equal([[['a'], ['c']], [['a', 'b', 'c']]]);
  });

  it('counts a term once: what is listed adds nothing to memories with all words', () => {
    const terms = [term('a', 100, 0), term('b', 10_000, 1), term('c', 8_000, 2)];
    const [all] = planCandidates(terms, [], ['s'], 100_000).newest;
    expect(all?.weight).to.be.closeTo(0.1 + 0.125, 1e-12);
  });

  it('takes the wider of terms that begin together, and the commoner of variants of a word', () => {
    const terms = [
      term('file', 3_000, 0, 4),
      term('file_hash', 2_000, 0, 9),
      { term: 'hash', df: 4_000, idf: 1, start: 5, end: 9 },
      term('deploying', 2_000, 1, 9),
      term('deploy', 5_000, 1, 9),
    ];
    const [all] = planCandidates(terms, [], ['s'], 100_000).newest;
    expect(all?.query.all).to.deep.equal([['file_hash'], ['deploy']]);
  });

  it('does without a term that no memory has', () => {
    const terms = [term('wide', 0, 0, 9), term('narrow', 5_000, 0, 4), term('other', 4_000, 1)];
    const [all] = planCandidates(terms, [], ['s'], 100_000).newest;
    expect(all?.query.all).to.deep.equal([['other'], ['narrow']]);
  });

  it('always demands the terms of quoted phrases', () => {
    for (const df of [1, 9_000]) {
      const { complete, newest, then } = planCandidates([term('a', df), term('b', df, 1)], ['q', 'r'], ['s'], 10_000);
      const queries = [...[...complete, ...newest].map(({ query }) => query), ...then];
      expect(queries).to.not.be.empty;
      for (const { all } of queries) expect(all.slice(0, 2)).to.deep.equal([['q'], ['r']]);
    }
  });

  it('asks nothing when no memory has any of the terms', () => {
    expect(planCandidates([term('a', 0)], [], ['s'], 10)).to.deep.equal({ complete: [], newest: [], then: [] });
  });

  it('asks for every known term in the end, so that no match is passed over', () => {
    for (const df of [1, 500, 1_500, 19_000, 90_000]) {
      const terms = [term('a', df, 0), term('b', 100_000, 1)];
      expect(planCandidates(terms, [], ['s'], 100_000).then.at(-1)?.all).to.deep.equal([['a', 'b']]);
    }
  });

  it('never plans to list more matches than it can afford', () => {
    for (const df of [1, 100, 1_000, 2_001, 4_001, 19_000, 90_000]) {
      const terms = [term('a', df, 0), term('b', df, 1)];
      const { complete } = planCandidates(terms, [], ['s'], 100_000);
      expect(complete.length * df).to.be.at.most(MOST_LISTED);
    }
  });
});
