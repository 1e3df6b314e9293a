import { AsyncLocalStorage } from 'node:async_hooks';

/** The plugin whose code runs, through every await: faults are counted against it. */
export interface PluginMark {
  readonly plugin: string;
  /** Monotonic milliseconds after which the call should have ended; infinite while it may go on. */
  readonly overdueAt?: number;
  /** Number of open calls into plugins around the code that runs; 0 outside of one. */
  readonly depth?: number;
  /** All calls that are open within the outermost of these. */
  readonly tree?: CallTree;
}

/** Counts the calls that one call has caused, however they are nested, and that are open. */
export interface CallTree {
  open: number;
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

/** Runs something as the host itself, whatever plugin caused it. */
export function runUnmarked<R>(run: () => R): R {
  return marks.exit(run);
}

export function currentMark(): PluginMark | undefined {
  return marks.getStore();
}

export function currentPlugin(): string | undefined {
  return synchronousPlugin ?? marks.getStore()?.plugin;
}

/** The plugin whose folder holds the innermost frame of a stack. `folders` are written as in stacks, with the slash after them. */
export function pluginOfStack(stack: string | undefined, folders: ReadonlyMap<string, string>): string | undefined {
  for (const line of stack?.split('\n') ?? []) {
    for (const [folder, key] of folders) {
      if (line.includes(folder)) return key;
    }
  }
  return undefined;
}

const runningPlugin = Symbol.for('mortise.running-plugin');

/** What the watchdog's debugger evaluates in a paused main thread: the key of the plugin that runs, or undefined. */
export const runningPluginExpression = `globalThis[Symbol.for(${JSON.stringify(runningPlugin.description)})]?.()`;

/** Makes {@link runningPluginExpression} work. @returns the undo step. */
export function showRunningPlugin(): () => void {
  Object.defineProperty(globalThis, runningPlugin, { value: currentPlugin, configurable: true });
  return () => void Reflect.deleteProperty(globalThis, runningPlugin);
}
