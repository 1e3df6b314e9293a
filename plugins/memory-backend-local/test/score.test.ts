import { expect } from 'chai';
import * as fc from 'fast-check';
import { inverseFrequency } from 'mortise/contracts/text-analysis';
import { type ScoredQuery, scoreText, totalScore } from '../search/score.js';
import { readPostings, termHash, writePostings } from '../store/postings.js';

function query(...words: string[]): ScoredQuery {
  const terms = words.map((term, place) => ({ term, hash: termHash(term), place, idf: 1 }));
  return { terms, words: words.length, averageLength: 10 };
}

/** The postings of words in a row. */
function text(words: readonly string[], length = words.length) {
  const places = new Map<string, number[]>();
  for (const [place, word] of words.entries()) places.set(word, [...(places.get(word) ?? []), place]);
  return { length, postings: writePostings(places) };
}

describe('the score of a memory', () => {
  it('follows the formula of BM25 with k1 1.2 and b 0.75', () => {
    const { bm25 } = scoreText(query('a', 'b'), text(['a', 'x', 'a', 'y'], 20));
    const tf = 2;
    expect(bm25).to.be.closeTo((tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * 20) / 10)) / (2 * 2.2), 1e-12);
  });

  it('weighs terms by their rarity', () => {
    expect(inverseFrequency(100, 1)).to.be.closeTo(Math.log(1 + 99.5 / 1.5), 1e-12);
    expect(inverseFrequency(100, 100)).to.be.greaterThan(0);
    expect(inverseFrequency(3, 5)).to.be.greaterThan(0);
  });

  it('computes coverage by weight, and names the matched terms', () => {
    const parts = scoreText(query('a', 'b', 'c', 'd'), text(['d', 'a']));
    expect(parts.coverage).to.equal(0.5);
    expect(parts.matched_terms).to.deep.equal(['a', 'd']);
  });

  it('finds a phrase only where all words occur close together', () => {
    const far = Array.from({ length: 10 }, () => 'x');
    expect(scoreText(query('a', 'b'), text(['a', 'x', 'x', 'b'])).phrase).to.equal(1);
    expect(scoreText(query('a', 'b'), text(['a', ...far, 'b'])).phrase).to.equal(0);
    expect(scoreText(query('a', 'b'), text(['a', ...far, 'b', 'a'])).phrase).to.equal(1);
    expect(scoreText(query('a', 'b', 'c'), text(['a', 'b'])).phrase).to.equal(0);
    expect(scoreText(query('a'), text(['a'])).phrase).to.equal(0);
  });

  it('accepts any variant of a word in a phrase', () => {
    const terms = [
      { term: 'run', hash: termHash('run'), place: 0, idf: 1 },
      { term: 'running', hash: termHash('running'), place: 0, idf: 1 },
      { term: 'fast', hash: termHash('fast'), place: 1, idf: 1 },
    ];
    expect(scoreText({ terms, words: 2, averageLength: 5 }, text(['run', 'fast'])).phrase).to.equal(1);
  });

  it('is explained by its parts, and stays between 0 and 1', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1 }), fc.array(word), (words, body) => {
        const parts = scoreText(query(...words), text(body));
        expect(totalScore(parts)).to.be.within(0, 1);
        expect(totalScore(parts) > 0).to.equal(words.some((one) => body.includes(one)));
      }),
    );
  });
});

describe('the postings of a text', () => {
  it('return every position of every term, and of no other', () => {
    const term = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' });
    const places = fc
      .uniqueArray(fc.nat({ max: 200_000 }), { minLength: 1, maxLength: 5 })
      .map((some) => some.sort((a, b) => a - b));
    const terms = fc.uniqueArray(fc.tuple(term, places), { selector: ([name]) => termHash(name), maxLength: 40 });
    fc.assert(
      fc.property(terms, term, (some, other) => {
        const reader = readPostings(writePostings(new Map(some)));
        for (const [name, where] of some) {
          const found = reader.find(termHash(name));
          const read = Array.from({ length: (found?.to ?? 0) - (found?.from ?? 0) }, (_, n) =>
            reader.positionAt((found?.from ?? 0) + n),
          );
          expect(read).to.deep.equal(where);
        }
        const isKnown = some.some(([name]) => termHash(name) === termHash(other));
        expect(reader.find(termHash(other)) !== undefined).to.equal(isKnown);
      }),
    );
  });

  it('are empty for an empty text', () => {
    expect(readPostings(new Uint8Array(0)).find(1)).to.equal(undefined);
    expect(readPostings(writePostings(new Map())).find(1)).to.equal(undefined);
  });
});
