import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { answerOf, type MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { startMemory } from './memory-host.js';

const readme = new URL('../../../plugins/memory-gateway/README.md', import.meta.url);

interface Key {
  readonly key: string;
  readonly id: string;
}

describe('the keys in the README', () => {
  let memory: MemoryHost | undefined;
  afterEach(() => memory?.stop());

  it('may use exactly the spaces in its table', async () => {
    const text = await readFile(readme, 'utf8');
    const list = /export MORTISE_API_KEYS='([^']+)'/.exec(text)?.[1] ?? '';
    const cells = (line: string) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', ''));
    const lines = text.split('\n');
    const first = lines.findIndex((line) => line.startsWith('| key | `private:'));
    const [, ...spaces] = cells(lines[first] ?? '');
    const found = await startMemory({ env: {} }, { env: { MORTISE_API_KEYS: list } });
    memory = found;
    const listed = JSON.parse(list) as readonly Key[];
    expect(listed).to.have.length(3);
    for (const [at, { key, id }] of listed.entries()) {
      const [name, ...expected] = cells(lines[first + 2 + at] ?? '');
      expect(name).to.equal(id);
      const seen = await Promise.all(
        spaces.map(async (space) => {
          const body = { query: 'anything', spaces: [space] };
          const answer = await answerOf(await found.host.post('/memory/query', body, { 'x-api-key': key }));
          if (answer.body.ok !== true) expect(answer.body.reason).to.equal('space_forbidden');
          return answer.body.ok === true ? 'yes' : 'no';
        }),
      );
      expect(seen, id).to.deep.equal(expected);
    }
  });
});
