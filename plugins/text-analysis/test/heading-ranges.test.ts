import { expect } from 'chai';
import { analysis } from './tokens.js';

function headings(text: string): string[] {
  return analysis.headingRanges(text).map(({ start, end }) => text.slice(start, end));
}

describe('heading lines', () => {
  const table: readonly (readonly [text: string, expected: readonly string[]])[] = [
    ['# A\n\ntext\n## B ##', ['# A', '## B ##']],
    ['   ### A\r\ntext\r# B', ['   ### A', '# B']],
    ['Title\n=====\ntext', ['Title', '=====']],
    ['two\nlines\n---\n', ['two', 'lines', '---']],
    ['#hashtag\n####### seven\n    # code', []],
    ['text\n\n---\nmore', []],
    ['- item\n---\n> quote\n===\n| a |\n---', []],
    ['~~~\n# no\n```\n# no\n~~~\n# yes', ['# yes']],
    ['````\n```\n# no\n````\n# yes', ['# yes']],
    ['```\n# never closed', []],
    ['', []],
  ];
  for (const [text, expected] of table) {
    it(`of ${JSON.stringify(text)} are found`, () => {
      expect(headings(text)).to.deep.equal(expected);
    });
  }

  it('contain the tokens that count more', () => {
    const text = '# Auth guide\n\nThe flow';
    const ranges = analysis.headingRanges(text);
    const inHeading = analysis
      .analyse(text)
      .filter(({ start }) => ranges.some((range) => start >= range.start && start < range.end));
    expect(new Set(inHeading.map(({ term }) => term))).to.deep.equal(new Set(['auth', 'guid', 'guide']));
  });
});
