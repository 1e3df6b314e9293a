import { syncBuiltinESMExports } from 'node:module';
import { currentPlugin, pluginOfStack } from '../kernel/attribution.js';
import type { KernelLogger } from '../kernel/deps.js';
import { PluginProblem, stackOf } from '../messages/plugin-problem.js';
import { problem } from '../messages/plugin-problems.js';

interface ProcessGuardDeps {
  readonly log: KernelLogger;
  folders(): ReadonlyMap<string, string>;
  fault(plugin: string, code: string, error: unknown): void;
  /** An uncaught error that belongs to no plugin: the process is in an unknown state. */
  onHostFault(error: unknown): void;
}

/**
 * Attributes uncaught errors and unhandled rejections to the plugin whose code caused them, and refuses `process.exit`
 * in a plugin: it throws where it is called. Code that means harm is outside the trust model.
 *
 * @returns the undo step.
 */
export function guardProcess(deps: ProcessGuardDeps): () => void {
  const owner = (error: unknown): string | undefined =>
    currentPlugin() ?? pluginOfStack(stackOf(error), deps.folders());

  const onUncaught = (error: unknown): void => {
    const plugin = owner(error);
    if (plugin === undefined) deps.onHostFault(error);
    else deps.fault(plugin, error instanceof PluginProblem ? error.code : 'uncaught_error', error);
  };
  const onRejection = (reason: unknown): void => {
    const plugin = owner(reason);
    if (plugin === undefined) deps.log.error({ err: reason }, 'unhandled promise rejection');
    else deps.fault(plugin, 'unhandled_rejection', reason);
  };
  const { exit } = process;
  const guardedExit: typeof exit = (code) => {
    const plugin = owner(new Error('exit'));
    if (plugin === undefined) return exit.call(process, code);
    const refused = new PluginProblem(problem('exit_attempt'));
    // Counted here: the plugin may catch the error, and in a call it goes to the caller.
    deps.fault(plugin, 'exit_attempt', refused);
    throw refused;
  };

  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onRejection);
  replaceExit(guardedExit);
  return () => {
    replaceExit(exit);
    process.off('uncaughtException', onUncaught);
    process.off('unhandledRejection', onRejection);
  };
}

function replaceExit(exit: typeof process.exit): void {
  process.exit = exit;
  // import { exit } from 'node:process' must get it too.
  syncBuiltinESMExports();
}
