import { expect } from 'chai';
import fc from 'fast-check';
import { rounds } from 'mortise/sdk/testing';
import { analysis } from './tokens.js';

function queryTerms(query: string): string[] {
  return analysis.analyseQuery(query).terms.map(({ term }) => term);
}

describe('the terms of a query', () => {
  const table: Readonly<Record<string, readonly string[]>> = {
    'what is OAuth2?': ['oauth2', 'oauth', 'auth'],
    'NOT auth': ['auth'],
    'the who': ['the', 'who'],
    '--': [],
    'auth Auth auth:': ['auth'],
    '什么是港口？': ['么是', '是港', '港口', '港', '口'],
    '什麼是港口？': ['麼是', '是港', '港口', '港', '口'],
    为什么: ['为什么', '为什', '为', '什么', '什', '么'],
    的: ['的'],
    '{x} path:adr* ^"': ['x', 'path:adr', 'path', 'adr'],
  };
  for (const [query, expected] of Object.entries(table)) {
    it(`are those of the table for ${query}`, () => {
      expect(queryTerms(query)).to.deep.equal(expected);
    });
  }

  it('are distinct, with offsets of their first occurrence in the query', () => {
    const query = 'Hash of the hash';
    const { terms } = analysis.analyseQuery(query);
    expect(terms.map(({ term, start, end }) => [term, query.slice(start, end)])).to.deep.equal([['hash', 'Hash']]);
  });

  it('all occur in a text equal to the query', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const found = new Set(analysis.analyse(text).map(({ term }) => term));
        const { terms } = analysis.analyseQuery(text);
        expect(terms.every(({ term }) => found.has(term))).to.equal(true);
        expect(terms.length > 0).to.equal(found.size > 0);
      }),
    );
  });
});

describe('stop words', () => {
  it('are English and Chinese in both scripts, including question words', () => {
    for (const term of [
      'the',
      'what',
      'which',
      'does',
      '的',
      '了',
      '和',
      '是',
      '在',
      '什么',
      '什麼',
      '为什么',
      '為什麼',
      '哪裡',
    ]) {
      expect(analysis.isStopWord(term), term).to.equal(true);
    }
    for (const term of ['doe', 'hash', '港口', '目的', '']) expect(analysis.isStopWord(term), term).to.equal(false);
  });
});

describe('a quoted phrase', () => {
  const holds = (text: string, query: string): boolean => {
    const normalised = analysis.normalise(text);
    return analysis.analyseQuery(query).phrases.every((phrase) => analysis.containsPhrase(normalised, phrase));
  };

  it('is required verbatim, except for case, width, accents and white space', () => {
    expect(holds('The FILE\n  hash of Ｃafé', '"file hash" "cafe"')).to.equal(true);
    expect(holds('the hash of a file', '"file hash"')).to.equal(false);
    expect(holds('foo bar', '"foo-bar"')).to.equal(false);
    expect(holds('a party', '"art"')).to.equal(false);
    expect(holds('a party of art', '"art"')).to.equal(true);
    expect(holds('aaab aab', '"aab"')).to.equal(true);
    expect(holds('上海是一座港口城市', '"座港口"')).to.equal(true);
    expect(holds('C++ code', '＂c++＂')).to.equal(true);
  });

  it('needs two quotes with text between them', () => {
    for (const query of ['"unbalanced', '""', '" "', '“港口”']) {
      expect(analysis.analyseQuery(query).phrases, query).to.deep.equal([]);
    }
  });

  it('has terms that find it', () => {
    const [phrase] = analysis.analyseQuery('find "Implementing docs/fileHash 港口城市 v2"').phrases;
    expect(phrase?.text).to.equal('implementing docs/filehash 港口城市 v2');
    expect(phrase?.terms).to.deep.equal(['implementing', 'docs', 'filehash', '港口', '口城', '城市', 'v2']);
  });

  it('has only terms that every text with it has', () => {
    const words = fc.constantFrom(
      'file',
      'File',
      'fileHash',
      'OAuth2',
      'v1.2',
      "user's",
      'd',
      'C++',
      '上海',
      '港口城',
      'é',
      ' ',
    );
    const texts = fc.array(fc.tuple(words, fc.constantFrom(' ', '_', '.', '-', "'", '')), { maxLength: 8 });
    const text = texts.map((pieces) => pieces.flat().join(''));
    let held = 0;
    fc.assert(
      fc.property(text, words, text, (before, word, after) => {
        const whole = before + word + after;
        for (const phrase of analysis.analyseQuery(`"${word}"`).phrases) {
          if (!analysis.containsPhrase(analysis.normalise(whole), phrase)) continue;
          held += 1;
          expect(analysis.analyse(whole).map(({ term }) => term)).to.include.members([...phrase.terms]);
        }
      }),
      { numRuns: rounds(2_000, 40_000) },
    );
    expect(held).to.be.greaterThan(200);
  });
});
