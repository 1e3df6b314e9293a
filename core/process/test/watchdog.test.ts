import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { BootJournal } from '../boot-journal.js';
import { blockedFor } from '../processor-time.js';

const watched = fileURLToPath(new URL('./watched-process.js', import.meta.url));

describe('the watchdog', () => {
  let folder: string;
  const others: ChildProcess[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mortise-watchdog-'));
  });
  afterEach(async () => {
    for (const other of others.splice(0)) other.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  /** @returns how the process ended, and the code recorded for the suspected plugin */
  async function endOf(
    behaviour: string,
  ): Promise<{ readonly signal: unknown; readonly code: unknown; blamed?: string }> {
    const stdio = ['inherit', 'inherit', 'ignore'] as const;
    const child = spawn(process.execPath, [watched, folder, behaviour], { stdio: [...stdio] });
    others.push(child);
    const [code, signal] = await once(child, 'exit');
    const suspect = BootJournal.open(join(folder, 'boot.json')).suspect('watched');
    return { code, signal, ...(suspect ? { blamed: suspect.code } : {}) };
  }

  for (const [behaviour, does] of [
    ['computes', 'computes endlessly'],
    ['sleeps', 'sleeps endlessly in native code'],
  ] as const) {
    it(`ends a process that ${does}, and names the plugin`, async () => {
      const ended = await endOf(behaviour);
      expect(ended).to.deep.equal({ code: null, signal: 'SIGABRT', blamed: 'blocked_event_loop' });
    });
  }

  it('does not end a process whose event loop is busy with many sockets', async () => {
    expect(await endOf('is-crowded')).to.deep.equal({ code: 0, signal: null });
  });

  it('does not end a process that gets little CPU time', async () => {
    for (let count = 0; count < availableParallelism(); count += 1)
      others.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    expect(await endOf('is-starved')).to.deep.equal({ code: 0, signal: null });
  });
});

describe('the blocked time', () => {
  const at = (wall: number, waited: number) => ({ wall, waited });

  it('is counted while the thread runs or sleeps, not while it waits for a CPU', () => {
    expect(blockedFor(at(1_000, 50), at(2_000, 50), 5_000)).to.equal(1_000);
    expect(blockedFor(at(1_000, 50), at(2_000, 1_040), 5_000)).to.equal(10);
  });

  it('corrects for waiting that is reported late', () => {
    expect(blockedFor(at(1_000, 0), at(2_000, 3_000), 5_000)).to.equal(-2_000);
  });

  it('is limited while the reader did not run', () => {
    expect(blockedFor(at(1_000, 0), at(60_000, 0), 2_000)).to.equal(2_000);
  });
});
