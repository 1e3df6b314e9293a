import { runMarked } from './attribution.js';

/**
 * A service as others get it: the same members, but its functions run on the account of the plugin that provides it,
 * with all the timers and loops that they start. Only its own functions are covered, not those of what they return.
 */
export function markedService(plugin: string, service: unknown): unknown {
  const mark = { plugin };
  if (typeof service === 'function')
    return (...args: unknown[]): unknown => runMarked(mark, () => Reflect.apply(service, undefined, args));
  if (typeof service !== 'object' || service === null) return service;
  const facade: object = Object.create(Object.getPrototypeOf(service));
  for (const [name, isFunction] of membersOf(service)) {
    // The member of the moment: a service may replace its functions.
    const now = (): unknown => Reflect.get(service, name);
    const value = (...args: unknown[]): unknown =>
      runMarked(mark, () => Reflect.apply(now() as () => unknown, service, args));
    Object.defineProperty(facade, name, isFunction ? { value, enumerable: true } : { get: now, enumerable: true });
  }
  return Object.freeze(facade);
}

/** Names of all members, inherited ones too, and whether each is a function. */
function membersOf(service: object): ReadonlyMap<string | symbol, boolean> {
  const members = new Map<string | symbol, boolean>();
  for (let level = service; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Reflect.ownKeys(level)) {
      if (name === 'constructor' || members.has(name)) continue;
      members.set(name, typeof Object.getOwnPropertyDescriptor(level, name)?.value === 'function');
    }
  }
  return members;
}
