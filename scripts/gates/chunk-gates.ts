import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectThat, type Gate } from './gate.js';

const line = 'A sentence of a paragraph that fills the section with ordinary words.\n';
const code = `\`\`\`python\ndef foo():\n${'    print("a long block of code")\n'.repeat(200)}    return "bar"\n\`\`\``;
const document = `# Title\n\n${`${line}\n`.repeat(60)}\n${code}\n\n## After\n\n${`${line}\n`.repeat(60)}\n`;

const codeBlocks: Gate = {
  id: 'B4',
  title: 'Code Block Protection',
  check: async (lab) => {
    const kb = await lab.boot({ 'docs/a.md': document });
    await kb.refresh();
    await lab.disturb(kb);
    const contents = lab.sql(kb, 'select content from kb_chunks').map(([content]) => String(content));
    expectThat(contents.length > 2, 'the document was not split');
    expectThat(contents.filter((content) => content.includes(code)).length === 1, 'a code block is cut');
    return `Code block in one of ${contents.length} chunks`;
  },
};

const headings: Gate = {
  id: 'B5',
  title: 'Heading Boundaries',
  check: async (lab) => {
    const kb = await lab.boot({ 'docs/a.md': document, 'docs/b.md': `# One\n\n## Two\n\n### Three\n\n${line}` });
    await kb.refresh();
    await lab.disturb(kb);
    for (const [heading, content] of lab.sql(kb, 'select heading, content from kb_chunks where heading is not null')) {
      const text = String(content)
        .split('\n')
        .filter((one) => one.trim() !== '' && !one.startsWith('#'));
      expectThat(text.length > 0, `the chunk "${String(heading)}" is a heading without text`);
    }
    return 'Every heading has its text';
  },
};

const lines: Gate = {
  id: 'B6',
  title: 'Line Accuracy',
  check: async (lab) => {
    const kb = await lab.boot({ 'docs/a.md': document, 'docs/crlf.md': document.replaceAll('\n', '\r\n') });
    await kb.refresh();
    await lab.disturb(kb);
    const { results } = await kb.search('sentence code ordinary', { top_k: 50, content: true });
    expectThat(results.length > 2, 'nothing was found');
    for (const hit of results) {
      const file = (await readFile(join(kb.root, hit.path), 'utf8')).split(/\r?\n/);
      const own = file.slice(hit.start_line - 1, hit.end_line).join('\n');
      expectThat(own === hit.content, `${hit.evidence_ref} cites other lines`);
    }
    return `Lines of ${results.length} hits equal their files`;
  },
};

export const chunkGates: readonly Gate[] = [codeBlocks, headings, lines];
