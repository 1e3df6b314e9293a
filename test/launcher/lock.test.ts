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
      import { appendFileSync, writeFileSync } from 'node:fs';
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

  /** Leaves behind the lock of a holder that was killed. */
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

  it('is taken over from a holder that has not touched it for a minute, though its process number is in use', async () => {
    await leaveDead();
    writeFileSync(owner(), JSON.stringify({ id: 'old', pid: process.pid, host: hostname() }));
    const longAgo = new Date(Date.now() - 61_000);
    utimesSync(owner(), longAgo, longAgo);
    const next = hold('lock.release();');
    expect((await next.ended).code).to.equal(0);
    expect(next.lines('waiting')).to.deep.equal([]);
  });

  it('is taken over from an earlier process of the same number, as in a restarted container', async () => {
    await leaveDead();
    const next = hold('lock.release();', {
      before: `writeFileSync(${JSON.stringify(owner())}, JSON.stringify({ id: 'old', pid: process.pid, host: hostname() }));`,
    });
    expect((await next.ended).code).to.equal(0);
    expect(next.lines('waiting')).to.deep.equal([]);
  });

  it('never lets two in, also when many find a dead holder at once', async () => {
    await leaveDead();
    const journal = join(folder, 'journal');
    const crowd = Array.from({ length: 8 }, (_, index) =>
      hold(`
        for (const word of ['in', 'out']) {
          appendFileSync(${JSON.stringify(journal)}, word + ' ${index}\\n');
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        lock.release();`),
    );
    for (const one of crowd) expect((await one.ended).code, one.errors()).to.equal(0);
    const words = readFileSync(journal, 'utf8').trim().split('\n');
    expect(words).to.have.length(16);
    for (let index = 0; index < words.length; index += 2) {
      expect(words[index + 1]).to.equal(words[index]?.replace('in', 'out'));
    }
  });
});
