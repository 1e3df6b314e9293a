import 'reflect-metadata';
import { type DependencyContainer, instanceCachingFactory, container as root } from 'tsyringe';
import type { DatabaseHost } from '../database/index.js';
import type { HttpServer } from '../http/index.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { Kernel } from '../kernel/kernel.js';
import type { BootJournal } from '../process/boot-journal.js';
import type { Scheduler } from '../schedule/index.js';
import type { GuardedFetch } from '../sdk/host/fetch.js';
import type { HostServices } from '../sdk/host/index.js';
import type { PluginControl } from '../sdk/host/plugin-control.js';
import type { PluginsFile, Settings } from '../settings/types.js';
import type { LogSink, MetricsRegistry, Tracing } from '../telemetry/types.js';
import type { StorageAlarm } from './database-alarm.js';
import type { DesiredState } from './desired-state.js';
import type { SeenFiles } from './file-edits.js';
import type { Neighbours, ReplicaStates } from './replicas.js';

/** Guarded outbound requests. The client is large, so a process whose plugins send none does not load it. */
export interface LazyFetch {
  forHosts(patterns: readonly string[]): GuardedFetch;
  /** Begins to load the client: loading blocks the event loop, which the first request should not do. */
  load(): void;
  close(): Promise<void>;
}

/** Names a value of the composition; the type parameter is what it resolves to. */
export interface Token<T> {
  readonly name: string;
  readonly type?: T;
}

function token<T>(name: string): Token<T> {
  return { name };
}

/** The parts of a process, one token each. */
export const parts = {
  settings: token<Settings>('settings'),
  log: token<LogSink>('log'),
  metrics: token<MetricsRegistry>('metrics'),
  tracing: token<Tracing>('tracing'),
  scheduler: token<Scheduler>('scheduler'),
  storage: token<StorageAlarm>('storage'),
  database: token<DatabaseHost>('database'),
  pluginsFile: token<PluginsFile>('plugins-file'),
  seenFiles: token<SeenFiles>('seen-files'),
  desired: token<DesiredState>('desired'),
  journal: token<Pick<BootJournal, keyof BootJournal>>('journal'),
  neighbours: token<Neighbours>('neighbours'),
  kernelDeps: token<KernelDeps>('kernel-deps'),
  kernel: token<Kernel>('kernel'),
  replicas: token<ReplicaStates>('replicas'),
  control: token<PluginControl>('control'),
  http: token<HttpServer>('http'),
  fetch: token<LazyFetch>('fetch'),
  /** Its undo step. */
  guard: token<() => void>('process-guard'),
} as const;

/** The token of a host service inside a plugin's container. */
export function serviceToken<S extends keyof HostServices>(service: S): Token<HostServices[S]> {
  return token(`service:${service}`);
}

interface Resolver {
  /** @throws Error for a part that is not open. */
  get<T>(wanted: Token<T>): T;
}

type Close = () => unknown;

/**
 * The parts of a process, registered by token with a factory each. They are opened in the order of their registration and
 * closed in reverse; when one cannot be opened, those before it are closed again.
 */
export class Composition implements Resolver {
  readonly #container: DependencyContainer = root.createChildContainer();
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #open = new Set<string>();
  readonly #undo: Close[] = [];
  #isSealed = false;

  /**
   * @param make gets the parts that are registered before, others only in callbacks that run later; undefined: this
   * process does not have the part
   */
  part<T>(
    part: Token<T>,
    make: (parts: Composition) => T | undefined | Promise<T | undefined>,
    close?: (made: T) => unknown,
  ): this {
    if (this.#isSealed) throw new Error(`The part "${part.name}" comes too late: the parts are being opened.`);
    this.#container.register<T | undefined | Promise<T | undefined>>(part.name, { useFactory: () => make(this) });
    this.#waiting.push(async () => {
      const made = await this.#container.resolve<T | undefined | Promise<T | undefined>>(part.name);
      if (made === undefined) return;
      this.#container.register<T>(part.name, { useValue: made });
      this.#open.add(part.name);
      if (close) this.own(() => close(made));
    });
    return this;
  }

  /** Makes all parts. @throws what a factory throws; nothing is left open then. */
  async open(): Promise<this> {
    this.#isSealed = true;
    try {
      for (let make = this.#waiting.shift(); make; make = this.#waiting.shift()) await make();
      return this;
    } catch (error) {
      await this.close().catch(() => undefined);
      throw error;
    }
  }

  get<T>(wanted: Token<T>): T {
    if (!this.#open.has(wanted.name)) throw new Error(`The part "${wanted.name}" is not open.`);
    return this.#container.resolve<T>(wanted.name);
  }

  /** The part, or undefined in a process that does not have it, and before it is open. */
  find<T>(wanted: Token<T>): T | undefined {
    return this.#open.has(wanted.name) ? this.get(wanted) : undefined;
  }

  /** Adds a step to {@link close}, which runs before those of all parts opened so far. */
  own(close: Close): void {
    this.#undo.push(close);
  }

  /** Closes everything, in reverse. @throws the first error, after all steps have run. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#undo.pop(); close; close = this.#undo.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  /** A container for one plugin start: the parts of the process, and its own. */
  child(): PluginContainer {
    return new PluginContainer(this.#container.createChildContainer());
  }
}

/** The parts of one plugin start: made on first use, disposed last in first out. */
class PluginContainer implements Resolver {
  readonly #container: DependencyContainer;
  readonly #undo: (() => void | Promise<void>)[] = [];

  constructor(container: DependencyContainer) {
    this.#container = container;
  }

  /** `make` runs at most once; `undo` only when it ran. */
  own<T>(part: Token<T>, make: (parts: Resolver) => T, undo?: (made: T) => void | Promise<void>): this {
    this.#container.register<T>(part.name, {
      useFactory: instanceCachingFactory(() => {
        const made = make(this);
        if (undo) this.#undo.push(() => undo(made));
        return made;
      }),
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
