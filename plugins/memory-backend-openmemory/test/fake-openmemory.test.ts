import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type FakeOpenMemory, startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';

async function add(origin: string, content: string): Promise<number | string> {
  try {
    const response = await fetch(`${origin}/memory/add`, {
      method: 'POST',
      body: JSON.stringify({ content, metadata: { n: 1 } }),
      signal: AbortSignal.timeout(500),
    });
    await response.json();
    return response.status;
  } catch (error) {
    return error instanceof SyntaxError ? 'unreadable' : 'broken';
  }
}

describe('the fake OpenMemory server', () => {
  let server: FakeOpenMemory | undefined;
  afterEach(() => server?.stop());

  it('records every applied write in its journal, whatever its response', async () => {
    server = await startFakeOpenMemory();
    const { origin } = server;
    expect(await add(origin, 'plain')).to.equal(200);
    server.fail(
      'add',
      { kind: 'reset' },
      null,
      { kind: 'reset', apply: true },
      { kind: 'merge' },
      { kind: 'malformed' },
    );
    expect(await add(origin, 'reset')).to.equal('broken');
    expect(await add(origin, 'passed')).to.equal(200);
    expect(await add(origin, 'applied')).to.equal('broken');
    expect(await add(origin, 'merged')).to.equal(200);
    expect(await add(origin, 'malformed')).to.equal('unreadable');
    expect(server.journal.map(({ content, as, id }) => [content, as, id])).to.deep.equal([
      ['plain', 'stored', 'om-1'],
      ['passed', 'stored', 'om-2'],
      ['applied', 'stored', 'om-3'],
      ['merged', 'merged', 'om-3'],
      ['malformed', 'stored', 'om-4'],
    ]);
    expect(server.memories.size).to.equal(4);
  });

  it('ranks the identical text before texts that only contain it', async () => {
    server = await startFakeOpenMemory();
    const { origin } = server;
    await add(origin, 'note 1 of 61');
    for (let n = 0; n < 20; n += 1) await add(origin, `note 1 of 61, and another note ${n}`);
    const found = await fetch(`${origin}/memory/query`, {
      method: 'POST',
      body: JSON.stringify({ query: 'note 1 of 61', k: 5 }),
    });
    const { matches } = (await found.json()) as { readonly matches: readonly { readonly id: string }[] };
    expect(matches.map(({ id }) => id))
      .to.have.length(5)
      .and.to.include('om-1');
  });

  it('restarts on its port with its memories', async () => {
    server = await startFakeOpenMemory();
    await add(server.origin, 'stored');
    await server.stop();
    expect(await add(server.origin, 'refused')).to.equal('broken');
    await server.start();
    expect(await (await fetch(`${server.origin}/memory/om-1`)).json()).to.deep.include({ content: 'stored' });
  });

  it('appends applied writes to its journal file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-fake-'));
    try {
      const journalFile = join(folder, 'journal.jsonl');
      server = await startFakeOpenMemory({ dialect: 'search', journalFile });
      server.fail('add', { kind: 'reset', apply: true });
      expect(await add(server.origin, 'one')).to.equal('broken');
      expect(await add(server.origin, 'two')).to.equal(200);
      const entries = (await readFile(journalFile, 'utf8'))
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as unknown);
      expect(entries).to.deep.equal(server.journal);
      expect(entries).to.have.length(2);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
