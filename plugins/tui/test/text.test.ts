import { expect } from 'chai';
import fc from 'fast-check';
import { MortiseError } from 'mortise/sdk';
import { ChatScreen } from '../session/chat-screen.js';
import { handleKey } from '../session/handle-key.js';
import { commandWord, suggestionsFor } from '../session/slash-commands.js';
import { edit, emptyText, insert, typed } from '../text/edit-text.js';
import { markdownLines } from '../text/markdown-lines.js';
import { expandPrompt, readPromptCall } from '../text/prompt-template.js';
import { characters, type Line, textWidth, widthOf, wrapSpans } from '../text/wrap-spans.js';

const plain = (lines: readonly Line[]): readonly string[] => lines.map((line) => line.map(({ text }) => text).join(''));

describe('text of the terminal UI', () => {
  describe('lines', () => {
    const cases: readonly [text: string, width: number, lines: readonly string[]][] = [
      ['one two three', 8, ['one two ', 'three']],
      ['中文换行按列', 5, ['中文', '换行', '按列']],
      ['前面，后面', 4, ['前', '面，', '后面']],
      ['averyverylongword', 6, ['averyv', 'erylon', 'gword']],
      ['two\nlines\n', 20, ['two', 'lines']],
      ['a\u001b[31mb\tc', 20, ['a·[31mb    c']],
      ['', 9, ['']],
    ];
    for (const [text, width, lines] of cases) {
      it(`breaks ${JSON.stringify(text)} at ${width}`, () => {
        expect(plain(wrapSpans([{ text }], width))).to.deep.equal(lines);
      });
    }

    it('are never wider than the terminal, and lose no character', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.integer({ min: 6, max: 40 }), (text, width) => {
          const lines = wrapSpans([{ text: text.replaceAll(/\s/g, ' ') }], width, [{ text: '> ' }]);
          for (const line of lines) expect(widthOf(line)).to.be.at.most(width);
          const shown = plain(lines)
            .map((line) => line.slice(2))
            .join('');
          expect(shown.replaceAll(' ', '').length).to.equal(
            plain(wrapSpans([{ text: text.replaceAll(/\s/g, '') }], 10_000)).join('').length,
          );
        }),
      );
    });
  });

  describe('Markdown', () => {
    it('becomes lists, code and tables', () => {
      const lines = plain(
        markdownLines('# T\n\ntext *x*\n\n1. one\n   - two\n\n```\ncode\n```\n\n> said\n\n|a|b|\n|-|-|\n|中|1|', 40),
      );
      expect(lines).to.deep.equal([
        'T',
        '',
        'text x',
        '',
        '1. one',
        '   • two',
        '',
        '│ code',
        '',
        '▎ said',
        '',
        'a  │ b',
        '───┼──',
        '中 │ 1',
      ]);
    });

    it('fits any text, incomplete text too', () => {
      fc.assert(
        fc.property(
          fc.array(
            fc.constantFrom(
              '# ',
              '- ',
              '1. ',
              '```\n',
              '> ',
              '|a|',
              '|-|\n',
              '**',
              '`',
              '\n',
              '\n\n',
              '中文',
              ' word ',
              '[x](y)',
            ),
          ),
          (parts) => {
            for (const line of markdownLines(parts.join(''), 60))
              expect(widthOf(line)).to.be.at.most(60 + 2 * parts.length);
          },
        ),
      );
    });
  });

  describe('editing', () => {
    it('counts grapheme clusters', () => {
      const family = insert(emptyText, '👨‍👩‍👧é');
      expect(family.cursor).to.equal(2);
      expect(edit(edit(family, 'backspace'), 'backspace')).to.deep.equal(emptyText);
      expect(textWidth('👨‍👩‍👧')).to.equal(2);
    });

    it('splits every text by the Unicode rules', () => {
      const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
      const units = [
        'a',
        'é',
        'e\u0301',
        '中',
        '，',
        '한',
        '\u1112\u1161',
        '\u11ab',
        'か',
        '\u3099',
        'ﾊ',
        'ﾞ',
        'я',
        '\u0483',
      ];
      const text = fc.array(fc.constantFrom(...units, '👍🏽', '🇩', '🇪', '\u200d', '\n', ' '));
      fc.assert(
        fc.property(text, (parts) => {
          const joined = parts.join('');
          expect(characters(joined)).to.deep.equal([...segments.segment(joined)].map(({ segment }) => segment));
        }),
      );
    });

    it('draws once for many keys that arrive together', async () => {
      const screen = new ChatScreen({
        connection: { apiBase: 'http://127.0.0.1:1', apiKey: '', userId: 'u', channel: 'console' },
        locale: 'en-US',
        sessionId: undefined,
        templates: undefined,
        size: { columns: 80, rows: 24 },
        quit: () => undefined,
      });
      let drawn = 0;
      screen.subscribe(() => {
        drawn += 1;
      });
      const text = '两千个字'.repeat(500);
      for (const one of text) {
        void handleKey(screen, { name: undefined, ctrl: false, meta: false, shift: false, text: one });
      }
      expect([screen.state().input.text, drawn]).to.deep.equal([text, 0]);
      await new Promise((done) => setImmediate(done));
      expect(drawn).to.equal(1);
      screen.close();
    });

    it('moves and deletes by words and lines', () => {
      const text = typed('one two\nthree four');
      expect(edit(text, 'delete-word').text).to.equal('one two\nthree ');
      expect(edit(text, 'delete-before').text).to.equal('one two\n');
      expect(edit(text, 'home').cursor).to.equal(8);
      expect(edit({ ...text, cursor: 3 }, 'delete-after').text).to.equal('one\nthree four');
      expect(edit({ ...text, cursor: 0 }, 'word-right').cursor).to.equal(3);
      expect(edit(emptyText, 'backspace')).to.deep.equal(emptyText);
    });
  });

  describe('prompt templates', () => {
    const expanded = (template: string, line: string): string => {
      const call = readPromptCall(line);
      return call ? expandPrompt(template, call) : 'no call';
    };

    it('replace every placeholder', () => {
      expect(expanded('$A and $B_2, $A', '/prompts:x A=1 B_2="two \\"words\\""')).to.equal('1 and two "words", 1');
      expect(expanded('costs 5$', '/prompts:x')).to.equal('costs 5$');
      expect(expanded('', 'prompts:x')).to.equal('no call');
    });

    const wrong: readonly [template: string, line: string, message: RegExp][] = [
      ['$A', '/prompts:x', /needs A/],
      ['', '/prompts:x A=1', /has no \$A/],
      ['$1', '/prompts:x', /\$1, which is not supported/],
      ['$ARGUMENTS', '/prompts:x ARGUMENTS=1', /\$ARGUMENTS/],
      ['', '/prompts:../x', /is not the name/],
      ['', '/prompts:', /is not the name/],
      ['$A', '/prompts:x A', /is not KEY=VALUE/],
      ['$A', '/prompts:x A="open', /is not KEY=VALUE/],
      ['$A', '/prompts:x A=1 A=2', /given twice/],
    ];
    for (const [template, line, message] of wrong) {
      it(`refuse ${line} for ${template || 'a plain text'}`, () => {
        expect(() => expanded(template, line)).to.throw(MortiseError, message);
      });
    }
  });

  describe('commands', () => {
    it('are distinguished from messages', () => {
      expect(
        ['/new', '/NEW', '/review now', '/etc/hosts', 'text', '/prompts:x', '/unknown x'].map(commandWord),
      ).to.deep.equal(['/new', '/new', undefined, undefined, undefined, undefined, '/unknown']);
    });

    it('are suggested until one is complete', () => {
      expect(suggestionsFor('/m').map(({ name }) => name)).to.deep.equal(['/model', '/mode']);
      expect(suggestionsFor('/mode')).to.deep.equal([]);
      expect(suggestionsFor('x')).to.deep.equal([]);
    });
  });
});
