import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { launcherModule } from './modules.js';
import { type Running, run } from './process.js';

describe('the lock of the set-up', () => {
  let folder: string;
  let lock: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mortise-lock-'));
    lock = join(folder, 'setup.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const owner = () => join(lock, 'owner.json');

  /** Runs a program that holds the lock around some statements. */
  function hold(statements: string, { before = '' }: { readonly before?: string } = {}): Running {
    const program = `
      import fs, { writeFileSync } from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      import { hostname } from 'node:os';
      import { acquireLock } from ${JSON.stringify(launcherModule('lock.mjs'))};
      ${before}
      const lock = await acquireLock(${JSON.stringify(lock)}, { onWait: () => console.log('waiting') });
      console.log('holding');
      ${statements}`;
    return run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
  }
  const untilKilled = 'setInterval(() => {}, 1000);';
  const untilInputCloses = `process.stdin.on('end', () => lock.release()); process.stdin.resume();`;

  /** Leaves the lock of a killed holder. */
  async function leaveDead(): Promise<void> {
    const dead = hold(untilKilled);
    await dead.line('holding');
    dead.child.kill('SIGKILL');
    await dead.ended;
    expect(existsSync(lock)).to.equal(true);
  }

  it('makes the second wait until the first is done', async () => {
    const first = hold(untilInputCloses);
    await first.line('holding');
    const second = hold('lock.release();');
    await second.line('waiting');
    expect(second.lines('holding')).to.deep.equal([]);
    first.closeInput();
    await second.line('holding');
    expect((await second.ended).code).to.equal(0);
    expect(existsSync(lock)).to.equal(false);
  });

  it('is taken over from a process that was killed, without waiting', async () => {
    await leaveDead();
    const next = hold('lock.release();');
    expect((await next.ended).code).to.equal(0);
    expect(next.lines('waiting')).to.deep.equal([]);
  });

  it('is not taken over while the killed holder has a worker that still writes', async () => {
    const worker = run(process.execPath, ['-e', 'process.stdin.resume()'], { cwd: folder });
    const dead = hold(`lock.note(${worker.child.pid}); console.log('noted'); ${untilKilled}`);
    await dead.line('noted');
    dead.child.kill('SIGKILL');
    await dead.ended;
    const next = hold('lock.release();');
    await next.line('waiting');
    expect(next.lines('holding')).to.deep.equal([]);
    worker.closeInput();
    await next.line('holding');
    await next.ended;
  });

  it('is taken over from a holder that has not touched it for a minute, although its process id is in use', async () => {
    await leaveDead();
    writeFileSync(owner(), JSON.stringify({ id: 'old', pid: process.pid, host: hostname() }));
    const longAgo = new Date(Date.now() - 61_000);
    utimesSync(owner(), longAgo, longAgo);
    const next = hold('lock.release();');
    expect((await next.ended).code).to.equal(0);
    expect(next.lines('waiting')).to.deep.equal([]);
  });

  it('is taken over from an earlier process with the same id, as in a restarted container', async () => {
    await leaveDead();
    const next = hold('lock.release();', {
      before: `writeFileSync(${JSON.stringify(owner())}, JSON.stringify({ id: 'old', pid: process.pid, host: hostname() }));`,
    });
    expect((await next.ended).code).to.equal(0);
    expect(next.lines('waiting')).to.deep.equal([]);
  });

  it('belongs to the waiter that took it over first', async () => {
    await leaveDead();
    // Between finding the holder dead and removing its lock, another waiter has removed it and placed its own.
    const living = JSON.stringify({ id: 'quicker', pid: process.pid, host: hostname() });
    const slow = hold('lock.release();', {
      before: `
        const { mkdirSync, rmSync } = fs;
        fs.mkdirSync = (path, ...rest) => {
          if (path.includes('.remove-')) {
            fs.mkdirSync = mkdirSync;
            syncBuiltinESMExports();
            rmSync(${JSON.stringify(owner())});
            writeFileSync(${JSON.stringify(owner())}, ${JSON.stringify(living)});
          }
          return mkdirSync(path, ...rest);
        };
        syncBuiltinESMExports();`,
    });
    await slow.line('waiting');
    expect(readFileSync(owner(), 'utf8')).to.equal(living);
    rmSync(lock, { recursive: true });
    await slow.line('holding');
    await slow.ended;
  });

  it('never has two holders, although every holder dies and many waiters find it dead at the same time', async () => {
    await leaveDead();
    const dead = JSON.parse(readFileSync(owner(), 'utf8')) as { readonly pid: number };
    const journal = join(folder, 'journal');
    const [people, rounds] = [6, 15];
    // A holder "dies" by leaving its lock with the number of a process that is gone, and comes back as another waiter.
    const program = (name: number) => `
      import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
      import { acquireLock } from ${JSON.stringify(launcherModule('lock.mjs'))};
      for (let round = 0; round < ${rounds}; round++) {
        await acquireLock(${JSON.stringify(lock)});
        appendFileSync(${JSON.stringify(journal)}, 'in ${name}\\n');
        await new Promise((resolve) => setImmediate(resolve));
        appendFileSync(${JSON.stringify(journal)}, 'out ${name}\\n');
        const mine = JSON.parse(readFileSync(${JSON.stringify(owner())}, 'utf8'));
        writeFileSync(${JSON.stringify(owner())}, JSON.stringify({ ...mine, pid: ${dead.pid} }));
      }`;
    const crowd = Array.from({ length: people }, (_, name) =>
      run(process.execPath, ['--input-type=module', '-e', program(name)], { cwd: folder }),
    );
    for (const one of crowd) expect((await one.ended).code, one.errors()).to.equal(0);
    const words = readFileSync(journal, 'utf8').trim().split('\n');
    expect(words).to.have.length(2 * people * rounds);
    for (let index = 0; index < words.length; index += 2) {
      expect(words[index + 1]).to.equal(words[index]?.replace('in', 'out'));
    }
  });
});
