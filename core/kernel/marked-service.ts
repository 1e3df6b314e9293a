import { runMarked } from './attribution.js';
import { membersOf } from './members-of.js';

/**
 * A service as others get it: the same members, but its functions run on the account of the plugin that provides it,
 * with all the timers and loops that they start. Only its own functions are covered, not those of what they return.
 */
export function markedService(plugin: string, service: unknown): unknown {
  const mark = { plugin };
  if (typeof service === 'function')
    return (...args: unknown[]): unknown => runMarked(mark, Reflect.apply, service, undefined, args);
  if (typeof service !== 'object' || service === null) return service;
  const facade: object = Object.create(Object.getPrototypeOf(service));
  for (const [name, isFunction] of membersOf(service)) {
    // The member of the moment: a service may replace its functions.
    const now = (): unknown => Reflect.get(service, name);
    const value = (...args: unknown[]): unknown =>
      runMarked(mark, Reflect.apply, now() as () => unknown, service, args);
    Object.defineProperty(facade, name, isFunction ? { value, enumerable: true } : { get: now, enumerable: true });
  }
  return Object.freeze(facade);
}
