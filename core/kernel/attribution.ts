import { AsyncLocalStorage } from 'node:async_hooks';

/** Whose code runs now, through every await: the plugin that a fault is counted against. */
export interface PluginMark {
  readonly plugin: string;
  /** Monotonic milliseconds from which it is a fault that the call goes on; infinite while it may. */
  readonly overdueAt?: number;
}

const marks = new AsyncLocalStorage<PluginMark>();

/** The plugin of the running pass of a synchronous pipeline, which is too hot for an async mark. */
let synchronousPlugin: string | undefined;

export function runMarked<A extends readonly unknown[], R>(mark: PluginMark, run: (...args: A) => R, ...args: A): R {
  return marks.run(mark, run, ...args);
}

export function runSynchronously<R>(plugin: string, run: () => R): R {
  const before = synchronousPlugin;
  synchronousPlugin = plugin;
  try {
    return run();
  } finally {
    synchronousPlugin = before;
  }
}

/** Runs something as the host itself, whoever asked for it. */
export function runUnmarked<R>(run: () => R): R {
  return marks.exit(run);
}

export function currentMark(): PluginMark | undefined {
  return marks.getStore();
}

export function currentPlugin(): string | undefined {
  return synchronousPlugin ?? marks.getStore()?.plugin;
}

/**
 * The plugin in whose folder the innermost frame of a stack lies. `folders` are written as in a stack, with the slash
 * after them.
 */
export function pluginOfStack(stack: string | undefined, folders: ReadonlyMap<string, string>): string | undefined {
  if (!stack) return undefined;
  for (const line of stack.split('\n')) {
    for (const [folder, key] of folders) {
      if (line.includes(folder)) return key;
    }
  }
  return undefined;
}

/** Under this name the watchdog's debugger finds out, from a paused main thread, on whose account it runs. */
export const runningPlugin = Symbol.for('mortise.running-plugin');

/** What the debugger evaluates in the paused thread: a key, or nothing. */
export const runningPluginExpression = `globalThis[Symbol.for(${JSON.stringify(runningPlugin.description)})]?.()`;

/** @returns the undo step. */
export function showRunningPlugin(): () => void {
  Object.defineProperty(globalThis, runningPlugin, { value: currentPlugin, configurable: true });
  return () => void Reflect.deleteProperty(globalThis, runningPlugin);
}
