import { EventEmitter } from 'node:events';
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
  let told: number;
  const listener = (): number => (told += 1);
  beforeEach(() => {
    told = 0;
    process.on('SIGUSR2', listener);
    undo = refuseEnds(() => {
      throw new Error('refused');
    });
  });
  afterEach(() => {
    undo();
    process.off('SIGUSR2', listener);
  });

  for (const [name, end] of Object.entries(ways)) {
    it(`are refused: ${name}`, () => expect(end).to.throw('refused'));
  }

  it('are refused before a listener is told of a signal that nobody sent', () => {
    expect(() => process.emit('SIGUSR2', 'SIGUSR2')).to.throw('refused');
    expect(() => EventEmitter.prototype.emit.call(process, 'SIGUSR2')).to.throw('refused');
    expect(told).to.equal(0);
    undo();
    process.emit('SIGUSR2', 'SIGUSR2');
    expect(told).to.equal(1);
  });

  it('do not include signals that nobody listens to: they do what they did', () => {
    expect(process.listenerCount('SIGWINCH')).to.equal(0);
    expect(process.emit('SIGWINCH', 'SIGWINCH')).to.equal(false);
  });

  it('are refused before anybody is told that the process ends', () => {
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
