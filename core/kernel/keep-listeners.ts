import { runUnmarked } from './attribution.js';

type Listener = (...args: unknown[]) => void;

/**
 * From now on the present listeners of the process (uncaught errors, signals, the end of the launcher) stay, whoever
 * removes them: a plugin that clears the listeners of an event means its own. @returns the undo step.
 */
export function keepListeners(): () => void {
  const kept = process.eventNames().map((name) => [name, lasting(name)] as const);
  const { removeAllListeners, removeListener, off } = process;
  let removing = false;
  const thenRestored =
    (remove: Listener): Listener =>
    (...args) => {
      const outermost = !removing;
      removing = true;
      try {
        Reflect.apply(remove, process, args);
      } finally {
        if (outermost) {
          restore();
          removing = false;
        }
      }
      return process;
    };
  const restore = (): void => {
    for (const [name, listeners] of kept) {
      const present = process.listeners(name as 'exit') as readonly Listener[];
      if (listeners.every((listener) => present.includes(listener))) continue;
      // They stay in their order, before all others: the first may keep the next from being called.
      for (const listener of listeners.toReversed()) {
        Reflect.apply(removeListener, process, [name, listener]);
        // What Node makes for a signal belongs to the host, and not to the plugin that runs now.
        runUnmarked(() => process.prependListener(name as 'exit', listener));
      }
    }
  };
  Object.assign(process, {
    removeAllListeners: thenRestored(removeAllListeners as Listener),
    removeListener: thenRestored(removeListener as Listener),
    off: thenRestored(off as Listener),
  });
  return () => void Object.assign(process, { removeAllListeners, removeListener, off });
}

/** Those that are there for good: one that is called once removes itself. */
function lasting(name: string | symbol): readonly Listener[] {
  return (process.rawListeners(name) as Listener[]).filter((listener) => !('listener' in listener));
}
