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
import type { PluginScope } from './deps.js';
import type { EventBus } from './event-bus.js';
import { contributionId } from './extension-points.js';
import type { PluginOutput } from './plugin-output.js';
import { PluginProblem } from './plugin-problem.js';
import type { ResourceStack } from './resource-stack.js';
import type { ServiceRegistry } from './service-registry.js';
import type { Staging } from './staging.js';
import { markedService } from './wrap-members.js';

export type HostPhase = 'registering' | 'starting' | 'running' | 'stopped';

export interface PluginHostParts {
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
  readonly output: PluginOutput;
  /** Runs a callback of the plugin as a leased call; what it throws is a fault of the plugin. */
  callback(kind: string, run: (ctx: CallContext) => unknown): () => CallEnd | Promise<CallEnd>;
  every(ms: number, run: () => unknown): Disposable;
  cron(expression: string, zone: string, run: () => unknown): Disposable;
}

/** The host as one plugin sees it, from `register` to `stop`. */
export class PluginHost implements StartHost {
  readonly key: string;
  readonly config: PluginConfig;
  readonly log: Logger;
  readonly #parts: PluginHostParts;
  readonly #provided = new Map<string, unknown>();
  #phase: HostPhase = 'registering';

  constructor(parts: PluginHostParts) {
    this.key = parts.entry.key;
    this.config = parts.config;
    this.log = parts.log;
    this.#parts = parts;
    Object.freeze(this);
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get points(): Points {
    this.#needs('points');
    return this.#parts.points;
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
    const facts = this.#parts.entry.facts.get(contributionId(point, key));
    if (!facts)
      throw new PluginProblem(
        problem('contribution_invalid', `${point} "${key}"`, 'its manifest gives no facts for it'),
      );
    return facts as unknown as ExtensionPointFacts[P];
  }

  contribute<P extends keyof ExtensionPoints & string>(point: P, key: string, value: ExtensionPoints[P]): Disposable {
    if (this.#phase === 'stopped')
      throw new PluginProblem(problem('contribution_invalid', `${point} "${key}"`, 'the plugin has stopped'));
    return this.#parts.resources.defer(this.#parts.staging.add(point, key, value));
  }

  provide<S extends keyof Services & string>(service: S, value: Services[S]): void {
    if (this.#phase !== 'registering' && this.#phase !== 'starting') {
      throw new PluginProblem(
        problem('contribution_invalid', `service "${service}"`, 'services are provided before the plugin has started'),
      );
    }
    if (!(this.#parts.entry.manifest?.provides ?? []).includes(service) || !pluginKeyPattern.test(service)) {
      throw new PluginProblem(problem('contribution_undeclared', `service "${service}"`));
    }
    if (this.#provided.has(service)) throw new PluginProblem(problem('contribution_twice', `service "${service}"`));
    this.#provided.set(service, markedService(this.key, value));
  }

  use<S extends keyof HostServices & string>(service: S): HostServices[S];
  use<S extends keyof Services & string>(service: S): Services[S];
  use(service: string): unknown {
    this.#needs(`use("${service}")`);
    const manifest = this.#parts.entry.manifest;
    if ((manifest?.permissions?.services ?? []).includes(service))
      return this.#parts.scope.use(service as keyof HostServices);
    const found = this.#parts.services.get(service);
    if (!found || !(manifest?.requires ?? []).includes(found.plugin))
      throw new PluginProblem(problem('service_denied', service));
    return found.value;
  }

  watch<S extends keyof Services & string>(service: S): Watched<Services[S]> {
    this.#needs(`watch("${service}")`);
    const { services, entry, resources } = this.#parts;
    const allowed = new Set([...(entry.manifest?.optional ?? []), ...(entry.manifest?.requires ?? [])]);
    const current = (): Services[S] | undefined => {
      const found = services.get(service);
      return found && allowed.has(found.plugin) ? (found.value as Services[S]) : undefined;
    };
    return {
      get current() {
        return current();
      },
      onChange: (run) => {
        const tell = (): void => {
          this.#parts.callback(`watch ${service}`, () => run(current()))();
        };
        return resources.defer(services.watch(service, tell) as () => void);
      },
    };
  }

  own<D extends Disposable>(disposable: D): D {
    if (typeof disposable?.dispose !== 'function')
      throw new PluginProblem(problem('contribution_invalid', 'host.own()', 'what it is given has no dispose()'));
    return this.#parts.resources.push(disposable);
  }

  every(ms: number, run: (signal: AbortSignal) => unknown): Disposable {
    this.#needs('every()');
    runnable(`host.every(${ms} ms)`, run);
    return this.#parts.resources.push(
      this.#parts.every(
        ms,
        this.#parts.callback(`every ${ms} ms`, (ctx) => run(ctx.signal)),
      ),
    );
  }

  cron(expression: string, zone: string, run: (signal: AbortSignal) => unknown): Disposable {
    this.#needs('cron()');
    runnable(`host.cron("${expression}")`, run);
    return this.#parts.resources.push(
      this.#parts.cron(
        expression,
        zone,
        this.#parts.callback(`cron ${expression}`, (ctx) => run(ctx.signal)),
      ),
    );
  }

  on<E extends keyof HostEvents & string>(event: E, run: (value: HostEvents[E]) => unknown): Disposable {
    this.#needs(`on("${event}")`);
    runnable(`host.on("${event}")`, run);
    return this.#parts.resources.defer(
      this.#parts.events.subscribe(event, (value) => this.#parts.callback(`on ${event}`, () => run(value))()),
    );
  }

  emit<E extends keyof HostEvents & string>(event: E, value: HostEvents[E]): void {
    if (event === 'alert' && !this.#parts.output.mayAlert()) return;
    this.#parts.events.emit(event, value);
  }

  #needs(what: string): void {
    if (this.#phase === 'registering')
      throw new PluginProblem(problem('register_failed', `host.${what} is there only from start(host) on`));
    if (this.#phase === 'stopped')
      throw new PluginProblem(problem('contribution_invalid', `host.${what}`, 'the plugin has stopped'));
  }
}

// All plugins share it: none of them may change what the others get.
Object.freeze(PluginHost.prototype);

/** Refused where it is handed over: called later, it would be a fault of the plugin each time. */
function runnable(where: string, run: unknown): void {
  if (typeof run === 'function') return;
  const why = `what it is given to run is ${run === null ? 'null' : `of type ${typeof run}`}, not a function`;
  throw new PluginProblem(problem('contribution_invalid', where, why));
}
