import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { CallContext } from 'mortise/sdk';
import { localPrincipal, temporaryFolder } from 'mortise/sdk/testing';
import { createWatchCommand } from '../commands/watch-command.js';
import type { KbService } from '../service/knowledge-base.js';

describe('the watch of a command line', () => {
  it('ends when the command line has not called for ten seconds, and not while it waits', async () => {
    const root = temporaryFolder('watch');
    await writeFile(join(root, 'a.md'), '# A\n');
    let scans = 0;
    const kb = {
      repoOf: () => ({ name: 'default', root }),
      settings: { repos: [] },
      jobs: { active: () => undefined, released: async () => ({}) },
      refresh: () => ({ id: 'job-1' }),
      reportOf: async () => ({ changed_files: 1, deleted_files: 0, touched_files: 0 }),
      foldersOf: async () => {
        scans += 1;
        return [''];
      },
    } as unknown as KbService;
    let clock = 0;
    let sweep: () => unknown = () => undefined;
    let end: () => unknown = () => undefined;
    const every = (_ms: number, run: () => unknown) => {
      sweep = run;
      return { dispose: () => undefined };
    };
    const own = (one: { dispose(): unknown }) => {
      end = () => one.dispose();
      return one;
    };
    const watch = createWatchCommand(kb, { every, own } as Parameters<typeof createWatchCommand>[1], () => clock);
    const signal = new AbortController().signal;
    const ctx = { principal: localPrincipal, signal, log: { warn: () => undefined } } as unknown as CallContext;
    const call = (resume?: string) =>
      watch({ args: [], options: {}, json: false, ...(resume === undefined ? {} : { resume }) }, ctx);
    try {
      const first = await call();
      expect(first.text).to.contain('default: 1 changed, 0 deleted');
      const begun = scans;
      clock += 9_000;
      sweep();
      const waiting = call(first.again?.resume);
      clock += 60_000;
      sweep();
      await waiting;
      expect(scans, 'the same watch').to.equal(begun);
      clock += 10_001;
      sweep();
      await call(first.again?.resume);
      expect(scans, 'a new watch').to.be.above(begun);
    } finally {
      end();
    }
  });
});
