import { type CallTree, currentMark, type PluginMark, runMarked } from './attribution.js';
import { isThenable } from './time-limit.js';

/** Records what a plugin has started in one call and not finished. */
export interface PendingWork {
  /** @returns the same answer */
  pending<R>(answer: PromiseLike<R>): PromiseLike<R>;
  /** The plugin produces values step by step until the call ends. */
  pendingSteps(): void;
}

/**
 * A contribution as its callers get it, one object for each call: the same members, whose functions record in the call
 * what they return. So it is known who keeps a call from ending: the plugin, or its caller.
 */
export function wrapContribution(value: object): (call: PendingWork) => object {
  class Wrapped {
    readonly #call: PendingWork;

    constructor(call: PendingWork) {
      this.#call = call;
    }

    static record(self: unknown, answer: unknown): unknown {
      if (typeof answer !== 'object' || answer === null) return answer;
      // A function that was taken off its object does not know its call.
      if (typeof self !== 'object' || self === null || !(#call in self)) return answer;
      if (isThenable(answer)) return self.#call.pending(answer);
      if (Symbol.asyncIterator in answer) self.#call.pendingSteps();
      return answer;
    }
  }
  const members = Wrapped.prototype;
  for (const [name, isFunction] of membersOf(value)) {
    // Read at each call: a contribution may replace its functions.
    const read = (): unknown => Reflect.get(value, name);
    const run = function (this: unknown, ...args: unknown[]): unknown {
      return Wrapped.record(this, Reflect.apply(read() as () => unknown, value, args));
    };
    Object.defineProperty(members, name, isFunction ? { value: run } : { get: read });
  }
  Object.setPrototypeOf(members, Object.getPrototypeOf(value));
  return (call) => new Wrapped(call);
}

/**
 * A service as other plugins get it: the same members, whose functions run on the account of the plugin that provides
 * it, with the timers that they start. Members that are objects with functions are services within the service.
 * Functions of what they return are not covered.
 */
export function wrapService(plugin: string, service: unknown): unknown {
  return wrapWithin(plugin, service, new Map());
}

/** @param facades what was wrapped already, for services that contain each other */
function wrapWithin(plugin: string, service: unknown, facades: Map<object, object>): unknown {
  const own: PluginMark = { plugin };
  const call = (run: unknown, self: unknown, args: unknown[]): unknown => {
    const caller = currentMark();
    const mark = caller?.depth ? new ServiceMark(plugin, caller) : own;
    return runMarked(mark, Reflect.apply, run as () => unknown, self, args);
  };
  if (typeof service === 'function') return (...args: unknown[]): unknown => call(service, undefined, args);
  if (typeof service !== 'object' || service === null) return service;
  const known = facades.get(service);
  if (known !== undefined) return known;
  const facade: object = Object.create(Object.getPrototypeOf(service));
  facades.set(service, facade);
  for (const [name, isFunction] of membersOf(service)) {
    const read = (): unknown => Reflect.get(service, name);
    const value = (...args: unknown[]): unknown => call(read(), service, args);
    const part: unknown = isFunction ? undefined : Object.getOwnPropertyDescriptor(service, name)?.value;
    const wrapped = isPart(part) ? wrapWithin(plugin, part, facades) : part;
    // A member may be replaced while the service is in use.
    const get = wrapped === part ? read : () => (read() === part ? wrapped : read());
    Object.defineProperty(facade, name, isFunction ? { value, enumerable: true } : { get, enumerable: true });
  }
  return Object.freeze(facade);
}

/** An object of the plugin's own making that has functions; not a list, a signal or another value of the language. */
function isPart(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || value instanceof EventTarget) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && isBuiltIn(value)) return false;
  return [...membersOf(value).values()].includes(true);
}

/** Lists, maps, dates, promises, bytes: their functions need the object itself. */
function isBuiltIn(value: object): boolean {
  if (Symbol.iterator in value || isThenable(value)) return true;
  return (
    Object.prototype.toString.call(value) !== '[object Object]' || value instanceof Date || value instanceof WeakMap
  );
}

/** A call of a service is part of the leased call it is made in. */
class ServiceMark implements PluginMark {
  readonly plugin: string;
  readonly #call: PluginMark;

  constructor(plugin: string, caller: PluginMark) {
    this.plugin = plugin;
    this.#call = caller instanceof ServiceMark ? caller.#call : caller;
  }

  get depth(): number {
    return this.#call.depth ?? 0;
  }

  get tree(): CallTree | undefined {
    return this.#call.tree;
  }
}

/** Names of all members of an object, inherited ones too, and whether each is a function. */
function membersOf(value: object): ReadonlyMap<string | symbol, boolean> {
  const members = new Map<string | symbol, boolean>();
  for (let level = value; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Reflect.ownKeys(level)) {
      if (name === 'constructor' || members.has(name)) continue;
      members.set(name, typeof Object.getOwnPropertyDescriptor(level, name)?.value === 'function');
    }
  }
  return members;
}
