import { exit, kill } from 'node:process';
import { expect } from 'chai';
import { refuseEnds } from '../refuse-ends.js';

const { pid, ppid } = process;
const ways: Readonly<Record<string, () => unknown>> = {
  'process.exit()': () => process.exit(3),
  'exit() by its name': () => exit(3),
  'process.abort()': () => process.abort(),
  'process.reallyExit()': () => (process as unknown as { reallyExit(code: number): never }).reallyExit(3),
  'a signal to itself': () => process.kill(pid, 'SIGKILL'),
  'a signal by its name': () => kill(pid, 'SIGTERM'),
  'a signal without a name': () => process.kill(pid),
  'a signal to its own group': () => process.kill(-pid, 'SIGTERM'),
  'a signal to the group it is in': () => process.kill(0, 'SIGTERM'),
  'a signal to its launcher': () => process.kill(ppid, 'SIGTERM'),
  'a signal to everybody': () => process.kill(-1, 'SIGTERM'),
};

describe('the ends of a process', () => {
  let undo: () => void;
  beforeEach(() => {
    undo = refuseEnds(() => {
      throw new Error('refused');
    });
  });
  afterEach(() => undo());

  for (const [name, end] of Object.entries(ways)) {
    it(`are refused: ${name}`, () => expect(end).to.throw('refused'));
  }

  it('are refused before anybody is told that the process ends', () => {
    let told = 0;
    const listener = (): number => (told += 1);
    process.once('exit', listener);
    expect(() => process.exit(3)).to.throw('refused');
    process.off('exit', listener);
    expect([told, process.exitCode]).to.deep.equal([0, undefined]);
  });

  it('do not include the question whether the process is there, nor signals to others', () => {
    expect(process.kill(pid, 0)).to.equal(true);
    // Above the highest number that a process can have on Linux.
    expect(() => process.kill(2 ** 30, 'SIGTERM')).to.throw('ESRCH');
  });

  it('are as they were once that is undone', () => {
    const guarded = { exit: process.exit, byName: exit };
    undo();
    expect(process.exit).not.to.equal(guarded.exit);
    expect(exit).not.to.equal(guarded.byName);
  });
});
