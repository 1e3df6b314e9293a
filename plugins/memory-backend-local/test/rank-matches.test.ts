import { expect } from 'chai';
import * as fc from 'fast-check';
import type { Corpus } from '../search/corpus.js';
import { createRanking, type ListedTerm, type RankQuery } from '../search/rank-matches.js';

const corpusOf = (lengths: readonly number[], spaces: readonly number[] = []): Corpus => ({
  last: lengths.length - 1,
  documents: lengths.length,
  averageLength: 10,
  lengths: Uint32Array.from(lengths),
  spaceNumbers: Uint32Array.from(lengths, (_, seq) => spaces[seq] ?? 1),
  spaces: () => ({ numbers: new Set([1]), documents: lengths.length }),
});

const term = (seqs: readonly number[], idf: number, place: number, rest: Partial<ListedTerm> = {}): ListedTerm => ({
  all: Uint32Array.from(seqs),
  again: new Uint32Array(),
  idf,
  place,
  selects: true,
  ...rest,
});

const queryOf = (terms: readonly ListedTerm[], rest: Partial<RankQuery> = {}): RankQuery => ({
  terms,
  required: [],
  whole: { seqs: [], idf: 0 },
  spaces: new Set([1]),
  totalIdf: terms.reduce((sum, { idf }) => sum + idf, 0),
  words: new Set(terms.map(({ place }) => place)).size,
  unlistedWords: 0,
  enough: Number.POSITIVE_INFINITY,
  ...rest,
});

const even = corpusOf(Array.from({ length: 50 }, () => 10));

describe('the order of candidates', () => {
  it('is by the matched share of the query, newest first among equals', () => {
    const ranked = createRanking()(queryOf([term([1, 3, 7], 2, 0), term([7, 9], 3, 1), term([3, 8], 1, 2)]), even);
    expect([...ranked.seqs]).to.deep.equal([7, 9, 3, 1, 8]);
    expect(ranked.isComplete).to.equal(true);
    expect([...createRanking()(queryOf([]), even).seqs]).to.deep.equal([]);
  });

  it('is by length and by word frequency for memories with the same words', () => {
    const lengths = corpusOf([10, 30, 5, 10, 10]);
    const ranked = createRanking()(
      queryOf([term([1, 2, 3, 4], 1, 0, { again: Uint32Array.from([3]) })], { totalIdf: 2 }),
      lengths,
    );
    expect([...ranked.seqs]).to.deep.equal([3, 2, 4, 1]);
  });

  it('adds common terms to the score of candidates, but selects none by them', () => {
    const common = term([1, 2, 3], 0.5, 1, { selects: false });
    expect([...createRanking()(queryOf([term([2, 9], 1, 0), common]), even).seqs]).to.deep.equal([2, 9]);
  });

  it('contains memories of the spaces, and those whose space is not known yet', () => {
    const mixed = corpusOf([10, 10, 10, 10], [0, 1, 2, 0]);
    const seqs = [...createRanking()(queryOf([term([1, 2, 3, 70], 1, 0)]), mixed).seqs];
    expect(seqs).to.deep.equal([70, 3, 1]);
  });

  it('contains only memories in all required lists', () => {
    const required = [Uint32Array.from([1, 2, 3, 5]), Uint32Array.from([2, 3, 4])];
    const rank = createRanking();
    const seqs = (some: Partial<RankQuery>) => [...rank(queryOf([term([1, 2, 3, 4], 1, 0)], some), even).seqs];
    expect(seqs({ required })).to.deep.equal([3, 2]);
    expect(seqs({ required: [Uint32Array.from([2])] }), 'the next query').to.deep.equal([2]);
    expect(seqs({}), 'the one after it').to.deep.equal([4, 3, 2, 1]);
  });

  it('reserves the score of a phrase for memories with all words, listed or not', () => {
    const terms = [term([1, 2], 1, 0), term([2], 1, 1)];
    const boundsOf = (rest: Partial<RankQuery>) => [...createRanking()(queryOf(terms, rest), even).bounds];
    const [both = 0, one = 0] = boundsOf({ words: 3 });
    const [withPhrase = 0, without = 0] = boundsOf({ words: 3, unlistedWords: 1 });
    expect(withPhrase - both).to.be.closeTo(0.1, 1e-5);
    expect(without).to.be.closeTo(one, 1e-5);
  });

  it('drops only what cannot be among the needed number', () => {
    const list = fc.record({
      seqs: fc
        .uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 300 })
        .map((some) => some.sort((a, b) => a - b)),
      idf: fc.double({ min: 0.01, max: 10, noNaN: true }),
    });
    const lengths = corpusOf(Array.from({ length: 401 }, (_, seq) => 1 + ((seq * 7) % 40)));
    let leftOut = 0;
    fc.assert(
      fc.property(fc.array(list, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 20 }), (lists, enough) => {
        const terms = lists.map(({ seqs, idf }, place) => term(seqs, idf, place));
        const rank = createRanking();
        const all = rank(queryOf(terms), lengths);
        const some = rank(queryOf(terms, { enough }), lengths);
        expect([...some.seqs.subarray(0, enough)]).to.deep.equal([...all.seqs.subarray(0, enough)]);
        expect(new Set(all.seqs).size).to.equal(all.seqs.length);
        expect([...all.seqs].sort()).to.deep.equal([...new Set(lists.flatMap(({ seqs }) => seqs))].sort());
        const leaves = all.seqs.length - some.seqs.length;
        if (leaves > 0) expect(some.isComplete).to.equal(false);
        leftOut += leaves;
      }),
    );
    expect(leftOut).to.be.greaterThan(0);
  });

  it('drops most of very many', () => {
    const many = Array.from({ length: 3_000 }, (_, index) => index + 1);
    const lengths = corpusOf(Array.from({ length: 3_001 }, (_, seq) => 1 + (seq % 100)));
    const { seqs, isComplete } = createRanking()(queryOf([term(many, 1, 0)], { enough: 10 }), lengths);
    expect(isComplete).to.equal(false);
    expect(seqs.length).to.be.within(500, 1_000);
  });
});
