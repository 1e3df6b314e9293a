import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Functions that write rows of a session without the token of its claim. */
const unfenced = ['allocateUnfenced', 'importMessage'];

/** Source files of the plugins, tests left out, with their text. */
function sources(): readonly (readonly [file: string, text: string])[] {
  return readdirSync(join(root, 'plugins'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.split(sep).some((part) => ['test', 'node_modules'].includes(part)))
    .map((file) => [relative(root, file).replaceAll(sep, '/'), readFileSync(file, 'utf8')] as const);
}

function mentioning(...words: readonly string[]): readonly string[] {
  return sources().flatMap(([file, text]) => (words.some((word) => text.includes(word)) ? [file] : []));
}

describe('rows of a session', () => {
  it('are written without a claim only by tests and imports: nothing in the product does', () => {
    expect(mentioning(...unfenced)).to.have.members([
      'plugins/sessions/store/message-rows.ts',
      'plugins/sessions/store/session-row.ts',
    ]);
    const [, rows = ''] = sources().find(([file]) => file === 'plugins/sessions/store/message-rows.ts') ?? [];
    expect(rows.match(/importMessage/g)).to.have.length(1);
  });

  it('are inserted and numbered in one place each', () => {
    expect(mentioning('into {realtime.messages}')).to.deep.equal(['plugins/sessions/store/message-rows.ts']);
    expect(mentioning('set next_seq =')).to.have.members([
      'plugins/sessions/store/open-turn.ts',
      'plugins/sessions/store/session-row.ts',
    ]);
    for (const file of ['open-turn', 'session-row']) {
      const [, text = ''] = sources().find(([name]) => name === `plugins/sessions/store/${file}.ts`) ?? [];
      for (const statement of text.match(/update \{realtime\.sessions\} set next_seq[^`]*/g) ?? [''])
        expect(statement).to.include('lock_token = ?');
    }
  });
});
