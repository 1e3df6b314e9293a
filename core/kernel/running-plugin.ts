import { currentPlugin } from './attribution.js';

/** Under this name the watchdog's debugger finds out, from a paused main thread, on whose account it runs. */
export const runningPlugin = Symbol.for('mortise.running-plugin');

/** What the debugger evaluates in the paused thread: a key, or nothing. */
export const runningPluginExpression = `globalThis[Symbol.for(${JSON.stringify(runningPlugin.description)})]?.()`;

/** @returns the undo step. */
export function showRunningPlugin(): () => void {
  Object.defineProperty(globalThis, runningPlugin, { value: currentPlugin, configurable: true });
  return () => void Reflect.deleteProperty(globalThis, runningPlugin);
}
