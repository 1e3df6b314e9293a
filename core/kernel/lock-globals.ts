/** `Error` (how stacks are made), `Date` and timers stay open: libraries and clocks of tests change them. */
const locked = [
  ...['JSON', 'Reflect', 'Math', 'Atomics', 'Object', 'Array', 'Promise', 'Map', 'Set', 'WeakMap', 'WeakSet'],
  ...['String', 'Number', 'Boolean', 'BigInt', 'Symbol', 'RegExp', 'Proxy', 'ArrayBuffer', 'Uint8Array', 'Buffer'],
];

/**
 * Lets nobody replace the functions of these globals (`JSON.parse`), nor the globals themselves: to try it throws, in the
 * code that tries it. They may still be given more. It holds for as long as the process lives.
 */
export function lockGlobals(): void {
  for (const name of locked) {
    const value: unknown = Reflect.get(globalThis, name);
    for (const key of Reflect.ownKeys(value as object)) lock(value as object, key);
    lock(globalThis, name);
  }
}

/** Settings such as `Buffer.poolSize` are no functions, and stay open. */
function lock(owner: object, key: PropertyKey): void {
  const descriptor = Reflect.getOwnPropertyDescriptor(owner, key);
  const inner: unknown = Reflect.get(owner, key);
  const guarded = typeof inner === 'function' || owner === globalThis;
  if (!guarded || !descriptor?.configurable) return;
  const value = 'value' in descriptor ? { writable: false } : { set: undefined };
  Reflect.defineProperty(owner, key, { ...value, configurable: false });
}
