import { problem } from '../messages/plugin-problems.js';
import { currentPlugin, pluginOfStack } from './attribution.js';
import { harmless, stackOf } from './describe-error.js';
import { keepListeners } from './keep-listeners.js';
import { lockGlobals } from './lock-globals.js';
import { PluginProblem } from './plugin-problem.js';
import type { KernelLogger } from './ports.js';
import { refuseEnds } from './refuse-ends.js';

export interface ProcessGuardPorts {
  readonly log: KernelLogger;
  folders(): ReadonlyMap<string, string>;
  fault(plugin: string, code: string, error: unknown): void;
  /** An uncaught error that belongs to no plugin: the process is in an unknown state. */
  onHostFault(error: unknown): void;
}

/**
 * Puts errors that nobody caught on the account of the plugin whose code made them, and keeps plugins from ending the
 * process, from taking away its listeners or the errors that they wait for, from giving every object of the process a
 * member, and from replacing what all code leans on: that throws where it is tried, and so in the plugin that tries it.
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
  const refuse = (code: 'exit_attempt' | 'capture_attempt'): void => {
    const plugin = owner(new Error('who asks?'));
    if (plugin === undefined) return;
    const refused = new PluginProblem(problem(code));
    // It may catch what it gets, and in a call the error goes to the caller.
    ports.fault(plugin, code, refused);
    throw refused;
  };
  const { setUncaughtExceptionCaptureCallback: capture } = process;
  const guardedCapture: typeof capture = (run) => {
    refuse('capture_attempt');
    capture.call(process, run);
  };

  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onRejection);
  process.setUncaughtExceptionCaptureCallback = guardedCapture;
  const letItEnd = refuseEnds(() => refuse('exit_attempt'));
  const letListenersGo = keepListeners();
  Object.preventExtensions(Object.prototype);
  lockGlobals();
  return () => {
    process.setUncaughtExceptionCaptureCallback = capture;
    letListenersGo();
    letItEnd();
    process.off('uncaughtException', onUncaught);
    process.off('unhandledRejection', onRejection);
  };
}
