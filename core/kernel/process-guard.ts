import { problem } from '../messages/plugin-problems.js';
import { currentPlugin, pluginOfStack } from './attribution.js';
import { harmless, stackOf } from './describe-error.js';
import { keepListeners } from './keep-listeners.js';
import { PluginProblem } from './plugin-problem.js';
import type { KernelLogger } from './ports.js';

export interface ProcessGuardPorts {
  readonly log: KernelLogger;
  folders(): ReadonlyMap<string, string>;
  fault(plugin: string, code: string, error: unknown): void;
  /** An uncaught error that belongs to no plugin: the process is in an unknown state. */
  onHostFault(error: unknown): void;
}

/**
 * Puts errors that nobody caught on the account of the plugin whose code made them, and keeps plugins from ending the
 * process, from taking away its listeners or the errors that they wait for, and from giving every object of the process a member: that throws where it is
 * tried, and so in the plugin that tries it.
 *
 * @returns the undo step.
 */
export function guardProcess(ports: ProcessGuardPorts): () => void {
  const owner = (error: unknown): string | undefined =>
    currentPlugin() ?? pluginOfStack(stackOf(error), ports.folders());

  const onUncaught = (thrown: unknown): void => {
    const error = harmless(thrown);
    const plugin = owner(error);
    if (plugin !== undefined)
      ports.fault(plugin, error instanceof PluginProblem ? error.code : 'uncaught_error', error);
    else ports.onHostFault(error);
  };
  const onRejection = (thrown: unknown): void => {
    const reason = harmless(thrown);
    const plugin = owner(reason);
    if (plugin !== undefined) ports.fault(plugin, 'unhandled_rejection', reason);
    else ports.log.error({ err: reason }, 'a promise was rejected and nobody looked');
  };
  const isPlugin = (): boolean => owner(new Error('who asks?')) !== undefined;
  const { exit, setUncaughtExceptionCaptureCallback: capture } = process;
  const guardedExit: typeof exit = (code) => {
    if (isPlugin()) throw new PluginProblem(problem('exit_attempt'));
    return exit.call(process, code);
  };
  const guardedCapture: typeof capture = (run) => {
    if (isPlugin()) throw new PluginProblem(problem('capture_attempt'));
    capture.call(process, run);
  };

  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onRejection);
  Object.assign(process, { exit: guardedExit, setUncaughtExceptionCaptureCallback: guardedCapture });
  const letListenersGo = keepListeners();
  Object.preventExtensions(Object.prototype);
  return () => {
    letListenersGo();
    process.off('uncaughtException', onUncaught);
    process.off('unhandledRejection', onRejection);
    Object.assign(process, { exit, setUncaughtExceptionCaptureCallback: capture });
  };
}
