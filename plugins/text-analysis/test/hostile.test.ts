import { expect } from 'chai';
import fc from 'fast-check';
import { rounds } from 'mortise/sdk/testing';
import { createWordBorders } from '../add-segmented.js';
import { foldText, SELF_FOLDED } from '../fold-text.js';
import { analysis, source } from './tokens.js';

const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ unit: 'grapheme' }), anyUnits);

const PIECES = [
  ...'abzABZ019_-./:#+\'" \n',
  ...[
    'é',
    'e\u0301',
    'Ａ',
    'ß',
    'й',
    'ﬁ',
    '\u00ad',
    '上',
    '海',
    '港口',
    'ガ',
    'ｶﾞ',
    '한',
    'ภาษา',
    '𠮷',
    '😀',
    '\u0301',
    '’',
  ],
];
/** Text in which no character expands to several terms, so that the text of a token is exactly its term. */
const plainText = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''));

function checkTokens(text: string): void {
  let before = 0;
  for (const token of analysis.analyse(text)) {
    expect(token.start).to.be.within(before, text.length);
    expect(token.end).to.be.within(token.start + 1, text.length);
    expect(token.term.length).to.be.within(1, 128);
    before = token.start;
  }
}

describe('the analyser', () => {
  it('returns ordered tokens within the text for any string', () => {
    fc.assert(fc.property(anyText, checkTokens), { numRuns: rounds(500, 10_000) });
  });

  it('divides words where the segmenter does, in any string', () => {
    const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });
    fc.assert(
      fc.property(fc.oneof(anyText, plainText), fc.nat(), fc.nat(), (text, one, other) => {
        const [from = 0, to = 0] = [one, other].map((at) => at % (text.length + 1)).sort((a, b) => a - b);
        const starts = Array.from(segmenter.segment(text.slice(from)), ({ index }) => from + index);
        const within = starts.filter((at) => at > from && at < to);
        expect(createWordBorders(text)(from, to)).to.deep.equal([...within, to]);
      }),
      { numRuns: rounds(1_000, 20_000) },
    );
  });

  it('gives every token the offsets of text that folds to its term', () => {
    fc.assert(
      fc.property(plainText, (text) => {
        for (const token of analysis.analyse(text)) {
          const surface = foldText(source(text, token)).lower;
          if (token.class !== 'stem') expect(surface).to.equal(token.term);
          else expect(analysis.analyse(surface).map(({ term }) => term)).to.include(token.term);
        }
      }),
      { numRuns: rounds(1_000, 20_000) },
    );
  });

  it('returns the same result for the same text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(analysis.analyse(text)).to.deep.equal(analysis.analyse(text));
        expect(analysis.analyseQuery(text)).to.deep.equal(analysis.analyseQuery(text));
      }),
    );
  });

  it('folds the listed characters to themselves, and preserves the length in lower case', () => {
    const selfFolded = new RegExp(`^[${SELF_FOLDED}]$`, 'u');
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
      const character = String.fromCodePoint(codePoint);
      const { cased, lower } = foldText(character);
      if (lower.length !== cased.length) expect.fail(`U+${codePoint.toString(16)} changes its length in lower case`);
      if (selfFolded.test(character) && character.normalize('NFKC') !== character) {
        expect.fail(`U+${codePoint.toString(16)} does not fold to itself`);
      }
    }
  });

  const LENGTH = 1 << 17;
  const hostile: Readonly<Record<string, string>> = {
    'one letter': 'a',
    'one capital': 'A',
    camels: 'aB',
    'letters and digits': 'a1',
    'a dotted name': 'a.',
    'a snake': 'ab_',
    'a path': 'ab/',
    contractions: "a's",
    signs: 'c++',
    quotes: '"',
    'one ideograph': '海',
    Kana: 'あ',
    Hangul: '가',
    Thai: 'ก',
    'astral ideographs': '𠮷',
    emoji: '😀',
    'combining marks': '\u0301\u0327',
    'Thai marks': '\u0e49',
    'lone surrogates': '\ud800',
    NUL: '\0',
    'right-to-left text': '\u202eשלום ',
    'long ligatures': '\ufdfa',
    headings: '# a\n',
    'short lines': 'a\n',
    'carriage returns': '\r',
    stars: '*',
    backticks: '`',
    spaces: ' ',
  };
  for (const [name, unit] of Object.entries(hostile)) {
    it(`analyses a long text of ${name} in bounded pieces`, () => {
      const text = `か${unit.repeat(LENGTH / unit.length)}x\n===`;
      const tokens = analysis.analyse(text);
      expect(tokens.length).to.be.within(1, 3 * text.length);
      for (const { term } of tokens) if (term.length > 128) expect.fail(`a term of ${term.length} units`);
      analysis.analyseQuery(text);
      analysis.headingRanges(text);
      analysis.containsPhrase(analysis.normalise(text), { text: 'a'.repeat(LENGTH / 2), terms: [] });
    });
  }

  it('cuts a word longer than a term into pieces without a gap', () => {
    const word = `${'a'.repeat(127)}𐐀${'b'.repeat(200)}`;
    const pieces = analysis.analyse(word);
    expect(pieces.map((piece) => source(word, piece)).join('')).to.equal(word);
    expect(pieces.some(({ term }) => /\p{Surrogate}/u.test(term))).to.equal(false);
  });
});
