import { runMarked } from './attribution.js';
import { isThenable } from './time-limit.js';

/** Keeps account of what a plugin still owes in one call. */
export interface Debt {
  /** The plugin has begun something that is not done. @returns the same answer */
  owe<R>(answer: PromiseLike<R>): PromiseLike<R>;
  /** The plugin works as long as the call lasts, step by step. */
  oweSteps(): void;
}

/**
 * A contribution as its callers get it, one object for each call: the same members, but its functions note in the call
 * whether the plugin has answered. So it is known who keeps a call from ending: the plugin, or the one that called it.
 */
export function lendContribution(value: object): (debt: Debt) => object {
  class Lent {
    readonly #debt: Debt;

    constructor(debt: Debt) {
      this.#debt = debt;
    }

    static noted(borrower: unknown, answer: unknown): unknown {
      if (typeof answer !== 'object' || answer === null) return answer;
      // A function that was taken off its object does not know its call.
      if (typeof borrower !== 'object' || borrower === null || !(#debt in borrower)) return answer;
      if (isThenable(answer)) return borrower.#debt.owe(answer);
      if (Symbol.asyncIterator in answer) borrower.#debt.oweSteps();
      return answer;
    }
  }
  const members = Lent.prototype;
  for (const [name, isFunction] of membersOf(value)) {
    // The member of the moment: a contribution may replace its functions.
    const now = (): unknown => Reflect.get(value, name);
    const run = function (this: unknown, ...args: unknown[]): unknown {
      return Lent.noted(this, Reflect.apply(now() as () => unknown, value, args));
    };
    Object.defineProperty(members, name, isFunction ? { value: run } : { get: now });
  }
  Object.setPrototypeOf(members, Object.getPrototypeOf(value));
  Object.freeze(members);
  return (debt) => new Lent(debt);
}

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

/** Names of all members of an object, inherited ones too, and whether each is a function. */
export function membersOf(value: object): ReadonlyMap<string | symbol, boolean> {
  const members = new Map<string | symbol, boolean>();
  for (let level = value; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Reflect.ownKeys(level)) {
      if (name === 'constructor' || members.has(name)) continue;
      members.set(name, typeof Object.getOwnPropertyDescriptor(level, name)?.value === 'function');
    }
  }
  return members;
}
