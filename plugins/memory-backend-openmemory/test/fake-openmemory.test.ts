import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type FakeOpenMemory, startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';

const program = fileURLToPath(new URL('../fake-openmemory.js', import.meta.url));

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

describe('the stand-in for an OpenMemory server', () => {
  let server: FakeOpenMemory | undefined;
  afterEach(() => server?.stop());

  it('writes every applied write into its journal, whatever the client was told', async () => {
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

  it('finds the very same text before all that hold its words, however many and new', async () => {
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

  it('comes back on its port with what it had', async () => {
    server = await startFakeOpenMemory();
    await add(server.origin, 'kept');
    await server.stop();
    expect(await add(server.origin, 'lost')).to.equal('broken');
    await server.start();
    expect(await (await fetch(`${server.origin}/memory/om-1`)).json()).to.deep.include({ content: 'kept' });
  });

  it('meets the same faults for the same seed', async () => {
    const run = async (seed: number): Promise<readonly (number | string)[]> => {
      const own = await startFakeOpenMemory({ randomFaults: { seed, rates: { 'status-500': 0.3, malformed: 0.3 } } });
      const seen: (number | string)[] = [];
      for (let n = 0; n < 30; n += 1) seen.push(await add(own.origin, `text ${n}`));
      await own.stop();
      return seen;
    };
    const first = await run(7);
    expect(await run(7)).to.deep.equal(first);
    expect(await run(8)).to.not.deep.equal(first);
    expect(new Set(first)).to.deep.equal(new Set([200, 500, 'unreadable']));
  });

  it('runs in a process of its own and keeps its journal in a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-fake-'));
    const journal = join(folder, 'journal.jsonl');
    const child = spawn(process.execPath, [program, '--dialect', 'search', '--journal', journal], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      const line = await new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve));
      const origin = line.replace('fake OpenMemory listens on ', '');
      const script = { call: 'add', faults: [{ kind: 'reset', apply: true }] };
      await fetch(`${origin}/_fake/fail`, { method: 'POST', body: JSON.stringify(script) });
      expect(await add(origin, 'one')).to.equal('broken');
      expect(await add(origin, 'two')).to.equal(200);
      const told = (await (await fetch(`${origin}/_fake/journal`)).json()) as readonly unknown[];
      const kept = (await readFile(journal, 'utf8'))
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text) as unknown);
      expect(kept).to.deep.equal(told);
      expect(kept).to.have.length(2);
    } finally {
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    }
  });
});
