import { problem } from '../messages/plugin-problems.js';
import type { Disposable, Logger } from '../sdk/context.js';
import type { HostEvents } from '../sdk/events.js';
import type { HostServices } from '../sdk/host/index.js';
import type { PluginConfig, StartHost, Watched } from '../sdk/plugin.js';
import type { ExtensionPointFacts, ExtensionPoints } from '../sdk/points/index.js';
import { pluginKeyPattern } from '../sdk/points/point.js';
import type { Points } from '../sdk/points.js';
import type { Services } from '../sdk/services.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps, PluginScope } from './deps.js';
import type { EventBus } from './event-bus.js';
import { contributionId } from './extension-points.js';
import type { PluginCallbacks } from './plugin-callbacks.js';
import { PluginProblem } from './plugin-problem.js';
import type { ResourceStack } from './resource-stack.js';
import type { ServiceRegistry } from './service-registry.js';
import type { Staging } from './staging.js';
import { wrapService } from './wrap-members.js';

export type HostPhase = 'registering' | 'starting' | 'running' | 'stopped';

export interface PluginHostDeps {
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
