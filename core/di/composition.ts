import 'reflect-metadata';
import { type DependencyContainer, container as root } from 'tsyringe';

/** Names a value of the composition; the type parameter is what it resolves to. */
export interface Token<T> {
  readonly name: string;
  readonly type?: T;
}

export function token<T>(name: string): Token<T> {
  return { name };
}

/** How a part is made from the parts before it. */
export interface Resolver {
  get<T>(wanted: Token<T>): T;
}

/**
 * The parts of a process. They are registered by token as values and factories, and sealed before the first plugin:
 * each factory runs once and its product is registered as a value, so that no child container can slip something of its
 * own under a part that others share.
 */
export class Composition implements Resolver {
  readonly #container: DependencyContainer = root.createChildContainer();
  readonly #tokens: Token<unknown>[] = [];
  #sealed = false;

  value<T>(part: Token<T>, value: T): this {
    this.#open(part);
    this.#container.register<T>(part.name, { useValue: value });
    return this;
  }

  factory<T>(part: Token<T>, make: (parts: Resolver) => T): this {
    this.#open(part);
    this.#container.register<T>(part.name, { useFactory: () => make(this) });
    return this;
  }

  get<T>(wanted: Token<T>): T {
    return this.#container.resolve<T>(wanted.name);
  }

  seal(): this {
    for (const part of this.#tokens) {
      const made = this.get(part);
      this.#container.register(part.name, { useValue: made });
    }
    this.#sealed = true;
    return this;
  }

  /** A container for one plugin start: the shared parts, and those that are its own. */
  child(): PluginContainer {
    if (!this.#sealed) throw new Error('The composition must be sealed before the first plugin starts.');
    return new PluginContainer(this.#container.createChildContainer());
  }

  #open(part: Token<unknown>): void {
    if (this.#sealed) throw new Error(`The composition is sealed; "${part.name}" comes too late.`);
    this.#tokens.push(part);
  }
}

/** The parts of one plugin start: made when first asked for, given back last in first out. */
export class PluginContainer implements Resolver {
  readonly #container: DependencyContainer;
  readonly #undo: (() => void | Promise<void>)[] = [];

  constructor(container: DependencyContainer) {
    this.#container = container;
  }

  /** `make` runs at most once; `undo` only when it ran. */
  own<T>(part: Token<T>, make: (parts: Resolver) => T, undo?: (made: T) => void | Promise<void>): this {
    let made: { readonly value: T } | undefined;
    this.#container.register<T>(part.name, {
      useFactory: () => {
        if (!made) {
          made = { value: make(this) };
          const { value } = made;
          if (undo) this.#undo.push(() => undo(value));
        }
        return made.value;
      },
    });
    return this;
  }

  get<T>(wanted: Token<T>): T {
    return this.#container.resolve<T>(wanted.name);
  }

  async dispose(): Promise<void> {
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop()) await undo();
    this.#container.clearInstances();
  }
}
