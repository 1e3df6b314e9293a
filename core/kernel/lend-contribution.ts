import { isThenable } from './is-thenable.js';
import { membersOf } from './members-of.js';

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
