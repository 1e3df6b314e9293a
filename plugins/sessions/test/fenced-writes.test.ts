import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** What writes rows of a session without the token of its claim. */
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
  it('are written without a claim by tests and imports alone: nothing in the product calls it', () => {
    expect(mentioning(...unfenced)).to.have.members([
      'plugins/sessions/store/allocate.ts',
      'plugins/sessions/store/append.ts',
    ]);
    const [, append = ''] = sources().find(([file]) => file === 'plugins/sessions/store/append.ts') ?? [];
    expect(append.match(/importMessage/g)).to.have.length(1);
  });

  it('are inserted and numbered in one place each', () => {
    expect(mentioning('into {realtime.messages}')).to.deep.equal(['plugins/sessions/store/insert-messages.ts']);
    expect(mentioning('set next_seq =')).to.have.members([
      'plugins/sessions/store/allocate.ts',
      'plugins/sessions/store/open-turn.ts',
      'plugins/sessions/store/release.ts',
    ]);
    for (const file of ['open-turn', 'release']) {
      const [, text = ''] = sources().find(([name]) => name === `plugins/sessions/store/${file}.ts`) ?? [];
      for (const statement of text.match(/update \{realtime\.sessions\} set next_seq[^`]*/g) ?? [''])
        expect(statement).to.include('lock_token = ?');
    }
  });
});
