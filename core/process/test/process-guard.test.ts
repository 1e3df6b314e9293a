import { exit } from 'node:process';
import { expect } from 'chai';
import { runMarked } from '../../kernel/attribution.js';
import type { KernelLogger } from '../../kernel/deps.js';
import { guardProcess } from '../process-guard.js';

describe('the guarded process', () => {
  let undo: () => void;
  let faults: string[];
  beforeEach(() => {
    faults = [];
    undo = guardProcess({
      log: {} as KernelLogger,
      folders: () => new Map(),
      fault: (plugin, code) => void faults.push(`${plugin} ${code}`),
      onHostFault: () => undefined,
    });
  });
  afterEach(() => undo());

  const asPlugin = (run: () => unknown) => (): unknown => runMarked({ plugin: 'leaver' }, run);

  it('refuses process.exit() in a plugin, under either name, and counts the fault', () => {
    for (const run of [() => process.exit(3), () => exit(3)])
      expect(asPlugin(run)).to.throw().with.property('code', 'exit_attempt');
    expect(faults).to.deep.equal(['leaver exit_attempt', 'leaver exit_attempt']);
  });

  it('calls no exit listener when it refuses', () => {
    let called = 0;
    const listener = (): void => {
      called += 1;
    };
    process.once('exit', listener);
    expect(asPlugin(() => process.exit(3))).to.throw();
    process.off('exit', listener);
    expect([called, process.exitCode]).to.deep.equal([0, undefined]);
  });

  it('restores process.exit when undone', () => {
    const guarded = { exit: process.exit, byName: exit };
    undo();
    expect(process.exit).not.to.equal(guarded.exit);
    expect(exit).not.to.equal(guarded.byName);
  });
});
