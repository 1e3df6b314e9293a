import { PluginProblem } from '../messages/plugin-problem.js';
import { problem } from '../messages/plugin-problems.js';
import type { CallContext, Disposable, Logger } from '../sdk/context.js';
import type { HostEvents } from '../sdk/events.js';
import type { HostServices } from '../sdk/host/index.js';
import type { PluginConfig, StartHost, Watched } from '../sdk/plugin.js';
import type { ExtensionPointFacts, ExtensionPoints } from '../sdk/points/index.js';
import { pluginKeyPattern } from '../sdk/points/point.js';
import type { CallEnd, Points } from '../sdk/points.js';
import type { Services } from '../sdk/services.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps, PluginScope } from './deps.js';
import type { EventBus } from './event-bus.js';
import { contributionId } from './extension-points.js';
import { CallStats, type Lease } from './lease.js';
import type { LeaseBook } from './lease-book.js';
import type { ServiceRegistry } from './service-registry.js';
import type { Staging } from './staging.js';
import { isThenable } from './time-limit.js';
import { wrapService } from './wrap-members.js';

type HostPhase = 'registering' | 'starting' | 'running' | 'stopped';

interface PluginHostDeps {
  readonly entry: CatalogueEntry;
  readonly config: PluginConfig;
  readonly log: Logger;
  readonly staging: Staging;
  readonly services: ServiceRegistry;
  readonly resources: ResourceStack;
  readonly points: Points;
  readonly scope: PluginScope;
  readonly events: EventBus;
  readonly signal: AbortSignal;
  readonly callbacks: PluginCallbacks;
  readonly scheduler: KernelDeps['scheduler'];
}

/** The host as one plugin sees it, from `register` to `stop`. */
export class PluginHost implements StartHost {
  readonly key: string;
  readonly config: PluginConfig;
  readonly log: Logger;
  readonly #deps: PluginHostDeps;
  readonly #provided = new Map<string, unknown>();
  #phase: HostPhase = 'registering';

  constructor(deps: PluginHostDeps) {
    this.key = deps.entry.key;
    this.config = deps.config;
    this.log = deps.log;
    this.#deps = deps;
  }

  get signal(): AbortSignal {
    return this.#deps.signal;
  }

  get points(): Points {
    this.#needs('points');
    return this.#deps.points;
  }

  get provided(): ReadonlyMap<string, unknown> {
    return this.#provided;
  }

  get phase(): HostPhase {
    return this.#phase;
  }

  enter(phase: HostPhase): void {
    this.#phase = phase;
  }

  facts<P extends keyof ExtensionPointFacts & string>(point: P, key: string): ExtensionPointFacts[P] {
    const facts = this.#deps.entry.facts.get(contributionId(point, key));
    if (!facts)
      throw new PluginProblem(
        problem('contribution_invalid', `${point} "${key}"`, 'its manifest gives no facts for it'),
      );
    return facts as unknown as ExtensionPointFacts[P];
  }

  contribute<P extends keyof ExtensionPoints & string>(point: P, key: string, value: ExtensionPoints[P]): Disposable {
    if (this.#phase === 'stopped')
      throw new PluginProblem(problem('contribution_invalid', `${point} "${key}"`, 'the plugin has stopped'));
    return this.#deps.resources.defer(this.#deps.staging.add(point, key, value));
  }

  provide<S extends keyof Services & string>(service: S, value: Services[S]): void {
    if (this.#phase !== 'registering' && this.#phase !== 'starting') {
      throw new PluginProblem(
        problem('contribution_invalid', `service "${service}"`, 'services are provided before the plugin has started'),
      );
    }
    if (!(this.#deps.entry.manifest?.provides ?? []).includes(service) || !pluginKeyPattern.test(service)) {
      throw new PluginProblem(problem('contribution_undeclared', `service "${service}"`));
    }
    if (this.#provided.has(service)) throw new PluginProblem(problem('contribution_twice', `service "${service}"`));
    this.#provided.set(service, wrapService(this.key, value));
  }

  use<S extends keyof HostServices & string>(service: S): HostServices[S];
  use<S extends keyof Services & string>(service: S): Services[S];
  use(service: string): unknown {
    this.#needs(`use("${service}")`);
    const manifest = this.#deps.entry.manifest;
    if ((manifest?.permissions?.services ?? []).includes(service))
      return this.#deps.scope.use(service as keyof HostServices);
    const found = this.#deps.services.get(service);
    if (!found || !(manifest?.requires ?? []).includes(found.plugin))
      throw new PluginProblem(problem('service_denied', service));
    return found.value;
  }

  watch<S extends keyof Services & string>(service: S): Watched<Services[S]> {
    this.#needs(`watch("${service}")`);
    const { services, entry, resources, callbacks } = this.#deps;
    const allowed = new Set([...(entry.manifest?.optional ?? []), ...(entry.manifest?.requires ?? [])]);
    const current = (): Services[S] | undefined => {
      const found = services.get(service);
      return found && allowed.has(found.plugin) ? (found.value as Services[S]) : undefined;
    };
    return {
      get current() {
        return current();
      },
      onChange: (run) =>
        resources.defer(services.watch(service, () => void callbacks.run(`watch ${service}`, () => run(current())))),
    };
  }

  own<D extends Disposable>(disposable: D): D {
    if (typeof disposable?.dispose !== 'function')
      throw new PluginProblem(problem('contribution_invalid', 'host.own()', 'its argument has no dispose()'));
    return this.#deps.resources.push(disposable);
  }

  every(ms: number, run: (signal: AbortSignal) => unknown): Disposable {
    this.#needs('every()');
    runnable(`host.every(${ms} ms)`, run);
    const { resources, scheduler, callbacks } = this.#deps;
    return resources.push(scheduler.every(ms, () => callbacks.run(`every ${ms} ms`, (ctx) => run(ctx.signal))));
  }

  cron(expression: string, zone: string, run: (signal: AbortSignal) => unknown): Disposable {
    this.#needs('cron()');
    runnable(`host.cron("${expression}")`, run);
    const { resources, scheduler, callbacks } = this.#deps;
    return resources.push(
      scheduler.cron(expression, zone, () => callbacks.run(`cron ${expression}`, (ctx) => run(ctx.signal))),
    );
  }

  on<E extends keyof HostEvents & string>(event: E, run: (value: HostEvents[E]) => unknown): Disposable {
    this.#needs(`on("${event}")`);
    runnable(`host.on("${event}")`, run);
    const { resources, events, callbacks } = this.#deps;
    return resources.defer(events.subscribe(event, (value) => callbacks.run(`on ${event}`, () => run(value))));
  }

  emit<E extends keyof HostEvents & string>(event: E, value: HostEvents[E]): void {
    this.#deps.events.emit(event, value);
  }

  #needs(what: string): void {
    if (this.#phase === 'registering')
      throw new PluginProblem(problem('register_failed', `host.${what} is available from start(host) on`));
    if (this.#phase === 'stopped')
      throw new PluginProblem(problem('contribution_invalid', `host.${what}`, 'the plugin has stopped'));
  }
}

/** Refused at once: called later, it would be a fault of the plugin each time. */
function runnable(where: string, run: unknown): void {
  if (typeof run === 'function') return;
  const why = `its callback is ${run === null ? 'null' : `of type ${typeof run}`}, not a function`;
  throw new PluginProblem(problem('contribution_invalid', where, why));
}

/** What a plugin run holds, disposed last in first out; an item that fails does not affect the others. */
export class ResourceStack {
  #items: Disposable[] = [];
  #disposed = false;

  /** Adds an item; once the stack is disposed, the item is disposed at once. */
  push<D extends Disposable>(item: D): D {
    if (this.#disposed) void (async () => item.dispose())().catch(() => undefined);
    else this.#items.push(item);
    return item;
  }

  /** Adds an undo step, which runs once: when the handle or the stack is disposed. */
  defer(undo: () => void | Promise<void>): Disposable {
    let done = false;
    const item: Disposable = {
      dispose: () => {
        if (done) return;
        done = true;
        this.#items = this.#items.filter((other) => other !== item);
        return undo();
      },
    };
    return this.push(item);
  }

  /** Disposes each item through `dispose`, which may limit its time. @returns the errors of items that failed. */
  async dispose(dispose: (item: Disposable) => Promise<void>): Promise<unknown[]> {
    this.#disposed = true;
    const errors: unknown[] = [];
    for (let item = this.#items.pop(); item; item = this.#items.pop()) {
      try {
        await dispose(item);
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }
}

const done: CallEnd = Object.freeze({ ok: true, value: undefined });

/** Timers, events and changes that reach a plugin: each is a leased call, and a failure is a fault of the plugin. */
export class PluginCallbacks {
  readonly #leases: LeaseBook;
  readonly #stopped: AbortSignal;
  readonly #onFailure: (error: unknown) => void;
  readonly #stats = new CallStats();

  constructor(leases: LeaseBook, stopped: AbortSignal, onFailure: (error: unknown) => void) {
    this.#leases = leases;
    this.#stopped = stopped;
    this.#onFailure = onFailure;
  }

  /** Never throws or rejects. A callback of a plugin that is stopping is not run, and counts as failed. */
  run(kind: string, run: (ctx: CallContext) => unknown): CallEnd | Promise<CallEnd> {
    if (this.#stopped.aborted) return { ok: false, error: this.#stopped.reason };
    let lease: Lease | undefined;
    const failed = (error: unknown): CallEnd => {
      if (!lease?.aborted) this.#onFailure(error);
      return { ok: false, error };
    };
    try {
      // Fails for an event that is emitted in its own listener, without end.
      lease = this.#leases.open('callback', kind, this.#stats, 0, undefined);
      const result = lease.run((_: undefined, ctx) => run(ctx), undefined);
      return isThenable(result) ? (result.then(() => done, failed) as Promise<CallEnd>) : done;
    } catch (error) {
      return failed(error);
    }
  }
}
