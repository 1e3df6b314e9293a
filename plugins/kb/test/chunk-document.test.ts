import { expect } from 'chai';
import { chunkDocument } from '../documents/chunk-document.js';
import { readFrontMatter } from '../documents/front-matter.js';

const w = 'a'.repeat(200);
const limits = { maxTokens: 800, minTokens: 40 };
const fence = '```';

function chunks(text: string, path = 'docs/a.md') {
  return chunkDocument({ repo: 'default', path, text, frontMatterLines: readFrontMatter(text).lines }, limits);
}

function outline(text: string, path?: string): string[] {
  return chunks(text, path).map(({ heading, startLine, endLine }) => `${heading} L${startLine}-L${endLine}`);
}

describe('chunks of a document', () => {
  const goldens: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
    ['an empty file', '', []],
    ['blank lines', '\n\n', []],
    ['a heading with text', '# A\n\ntext\n', ['A L1-L3']],
    ['a heading alone', '# A', ['A L1-L1']],
    ['two headings alone', '# A\n\n## B\n', ['B L1-L3']],
    ['a heading before a section', `# T\n\n## A\n\n${w}`, ['A L1-L5']],
    ['two sections', `# A\n\n${w}\n\n## B\n\n${w}`, ['A L1-L3', 'B L5-L7']],
    ['a trailing heading', `# A\n\n${w}\n\n## B`, ['A L1-L5']],
    ['a small section', `# A\n\ntiny\n\n## B\n\n${w}`, ['B L1-L7']],
    ['a heading in a tilde fence', `# A\n\n${w}\n\n~~~\n# inside\n~~~\n\n${w}`, ['A L1-L9']],
    [
      'a fence in a longer fence',
      `# A\n\n${w}\n\n\`${fence}\n${fence}\n\`${fence}\n\n## B\n\n${w}`,
      ['A L1-L7', 'B L9-L11'],
    ],
    ['a fence that is not closed', `# A\n\n${w}\n\n${fence}\n## no\n\n${w}`, ['A L1-L8']],
    ['front matter', '---\ntitle: X\ntags: [a]\n---\n# A\n\ntext', ['A L5-L7']],
    ['a setext heading', `A\nB\n===\n\n${w}`, ['A B L1-L5']],
    ['a closed ATX heading', `   ## A ##\n\n${w}`, ['A L1-L3']],
    ['headings in quotes and lists', `# A\n\n> # q\n\n- # l\n\n${w}`, ['A L1-L7']],
    ['text before the first heading', `${w}\n\n# A\n\n${w}`, ['null L1-L1', 'A L3-L5']],
  ];
  for (const [name, text, expected] of goldens) {
    it(`is divided at its sections: ${name}`, () => expect(outline(text)).to.deep.equal(expected));
  }

  it('has the published ids', () => {
    const [chunk] = chunks('# A\n\ntext\n');
    expect(chunk?.contentHash).to.equal('d22b769515dfe6ca62b802e396c03708b2d0992608de48bbdcaf3544a31e4f12');
    expect(chunk?.chunkId).to.equal('chunk_03a4e4b076b44f26');
    expect(chunks('# A\r\n\r\ntext\r\n')).to.deep.equal(chunks('# A\n\ntext\n'));
    expect(chunks('# A\r\rtext\r')).to.deep.equal(chunks('# A\n\ntext\n'));
  });

  it('records the headings above a section', () => {
    expect(chunks(`# T\n\n## A\n\n${w}`)[0]?.headingPath).to.deep.equal(['T', 'A']);
    const two = chunks(`# T\n\n## A\n\n${w}\n\n## B\n\n${w}`);
    expect(two[1]?.headingPath).to.deep.equal(['T', 'B']);
  });

  it('divides a long section between its blocks and never inside a fence', () => {
    const code = `${fence}\n${`${'c'.repeat(39)}\n`.repeat(100)}${fence}`;
    const text = `# A\n\n${`${w}\n\n`.repeat(40)}${code}\n\n${`${w}\n\n`.repeat(40)}`;
    const found = chunks(text);
    expect(found.length).to.be.greaterThan(3);
    expect(found.filter(({ content }) => content.includes(code))).to.have.length(1);
    const lines = text.split('\n');
    const covered = new Set<number>();
    for (const { startLine, endLine, content, tokens } of found) {
      expect(content).to.equal(lines.slice(startLine - 1, endLine).join('\n'));
      if (!content.includes(code)) expect(tokens).to.be.at.most(800);
      for (let line = startLine; line <= endLine; line += 1) covered.add(line);
    }
    for (const [index, line] of lines.entries()) if (line.trim() !== '') expect(covered).to.include(index + 1);
    for (const chunk of found) expect(chunk.headingPath).to.deep.equal(['A']);
  });

  it('divides long lists between items, tables between rows and paragraphs between lines', () => {
    const list = Array.from({ length: 60 }, (_, index) => `- item ${index} ${w}\n  continued`).join('\n');
    for (const { content } of chunks(`# A\n\n${list}`)) expect(content).to.match(/^(# A|- item)/);
    const rows = Array.from({ length: 60 }, (_, index) => `| ${index} | ${w} |`).join('\n');
    expect(chunks(`# A\n\n| a | b |\n| - | - |\n${rows}`).length).to.be.greaterThan(3);
    const paragraph = Array.from({ length: 60 }, () => w).join('\n');
    for (const { tokens } of chunks(`# A\n\n${paragraph}`)) expect(tokens).to.be.at.most(800);
  });

  it('counts equal sections of a file apart', () => {
    const ids = chunks(`# A\n\n${w}\n\n# A\n\n${w}`).map(({ chunkId }) => chunkId);
    expect(new Set(ids).size).to.equal(2);
  });

  it('reads plain text as paragraphs without headings', () => {
    expect(outline(`# no heading\n\n${w}`, 'notes.txt')).to.deep.equal(['null L1-L3']);
  });

  it('reads hostile structure in linear time', () => {
    for (const text of ['> '.repeat(20_000), '- '.repeat(20_000), '# h\n'.repeat(10_000), 'x'.repeat(1_000_000)])
      expect(chunks(text).length).to.be.greaterThan(0);
  });
});
