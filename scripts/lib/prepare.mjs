import { join } from 'node:path';
import { buildProject, inspectBuild } from './build.mjs';
import { dependenciesCurrent, installDependencies } from './dependencies.mjs';
import { Failure } from './failure.mjs';
import { watchInterrupts } from './interrupts.mjs';
import { acquireLock } from './lock.mjs';
import { createNpm } from './npm.mjs';
import { createProgress } from './progress.mjs';
import { findRuntime, installRuntime } from './runtime.mjs';

/**
 * Prepares a checkout to run: a supported Node, the locked dependencies, the compiled sources. When everything
 * is up to date, it only checks and takes no lock.
 * @param {string} root
 * @param {{ build?: boolean, progress?: ReturnType<typeof createProgress> }} [options]
 *   build: false skips the compilation
 * @returns {Promise<{ node: string, errors: string[] }>} the Node to run on, and the type errors of the build
 */
export async function prepare(root, { build = true, progress = createProgress() } = {}) {
  const node = findRuntime(root);
  if (node && dependenciesCurrent(root)) {
    const { current, errors } = build ? inspectBuild(root) : { current: true, errors: [] };
    if (current) return { node, errors };
  }
  try {
    return await setUp(root, { build, progress });
  } catch (error) {
    if (['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw new Failure('not_writable', { path: root });
    throw error;
  }
}

/**
 * Does the missing steps under the lock. Checks everything again, because a previous holder may have done it.
 * @param {string} root
 * @param {{ build: boolean, progress: ReturnType<typeof createProgress> }} options
 */
async function setUp(root, { build, progress }) {
  const { say, step } = progress;
  const interrupts = watchInterrupts();
  try {
    const lock = await acquireLock(join(root, '.runtime', 'setup.lock'), {
      onWait: ({ pid }) => say(`waiting for process ${pid}, which is setting up this folder`),
      throwIfInterrupted: interrupts.throwIfReceived,
    });
    try {
      const npm = createNpm(root, { interrupts, onWorker: lock.note });
      const node =
        findRuntime(root) ??
        (await step(`installing Node 22 (this one is ${process.version})`, () => installRuntime(root, npm)));
      if (!dependenciesCurrent(root)) {
        await installDependencies(root, npm, { node, step: (work) => step('installing the dependencies', work) });
      }
      const state = build ? inspectBuild(root) : { current: true, errors: [] };
      if (state.current) return { node, errors: state.errors };
      const { errors } = await step('building', () => buildProject(root, { node, interrupts, onWorker: lock.note }));
      return { node, errors };
    } finally {
      lock.release();
    }
  } finally {
    interrupts.stop();
  }
}
