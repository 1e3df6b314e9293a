import { describeError, explainError, PluginProblem, startProblem } from '../messages/plugin-problem.js';
import { problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginConfig, PluginDefinition, PluginLifecycle, StopReason } from '../sdk/plugin.js';
import type { PluginHealth } from '../sdk/plugin-health.js';
import type { Contribution } from '../sdk/points.js';
import { runMarked } from './attribution.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps, PluginScope } from './deps.js';
import type { EventBus } from './event-bus.js';
import { abortGraceMs, type Lease } from './lease.js';
import { LeaseBook, type LeaseSweep } from './lease-book.js';
import { checkStarted, loadDefinition } from './plugin-code.js';
import { PluginCallbacks, PluginHost, ResourceStack } from './plugin-host.js';
import { PluginPoints } from './plugin-points.js';
import type { Registry } from './registry.js';
import type { ServiceRegistry } from './service-registry.js';
import { Overrun, type ShutdownDeadline, type StopStep, type Unfinished } from './shutdown-deadline.js';
import { Staging } from './staging.js';
import { isThenable, type Limit, milliseconds, withTimeLimit } from './time-limit.js';

const defaultTimeouts = { start: 10_000, stop: 5_000, drain: 30_000 } as const;
const healthLimitMs = 5_000;
/** The shutdown has a limit of its own, which is shorter. */
const maxDrainMs = 3_600_000;

/** Milliseconds; null: it did not get that far. */
export interface LoadTimes {
  import: number | null;
  register: number | null;
  start: number | null;
}

type FromKernel = 'log' | 'clock' | 'scheduler' | 'compile' | 'metrics' | 'tracing' | 'openScope' | 'note' | 'blocker';

export interface PluginRunDeps extends Pick<KernelDeps, FromKernel> {
  readonly registry: Registry;
  readonly services: ServiceRegistry;
  readonly events: EventBus;
  readonly deadline: ShutdownDeadline;
  readonly sweep: LeaseSweep;
  /** Waits until this plugin may import. @returns the step that lets the next one. */
  takeImport(): Promise<() => void>;
  declared(point: string): readonly Contribution[];
  onFault(plugin: string, code: string, error: unknown): void;
  /** The process ends and does not wait for it: no fault. */
  onUnfinished(unfinished: Unfinished): void;
}

/** One life of a plugin: from loading its code to releasing the last thing it held. */
export class PluginRun {
  readonly entry: CatalogueEntry;
  /** Of the configuration in force; grows when the plugin takes over a new one. */
  configRevision: number;
  readonly leases: LeaseBook;
  readonly staging: Staging;
  readonly times: LoadTimes = { import: null, register: null, start: null };
  readonly #deps: PluginRunDeps;
  readonly #config: PluginConfig;
  readonly #resources = new ResourceStack();
  readonly #stop = new AbortController();
  #host: PluginHost | undefined;
  #scope: PluginScope | undefined;
  #definition: PluginDefinition | undefined;
  /** What `start` returned. */
  #started: PluginLifecycle = {};
  #hasStarted = false;
  #cancelled = false;
  #ended = false;

  constructor(
    entry: CatalogueEntry,
    config: { readonly value: PluginConfig; readonly revision: number },
    deps: PluginRunDeps,
  ) {
    const { clock, log, tracing } = deps;
    this.entry = entry;
    this.configRevision = config.revision;
    this.#config = config.value;
    this.#deps = deps;
    this.leases = new LeaseBook(entry.key, {
      monotonic: () => clock.monotonic(),
      logFor: ({ plugin, requestId, correlationId }) =>
        log.child({ plugin, request_id: requestId, correlation_id: correlationId }),
      startSpan: ({ point, key, plugin }, parent) =>
        tracing.start(`${point} ${key}`, parent, { 'mortise.plugin': plugin }),
      onIgnoredAbort: (lease) => this.#ignoredAbort(lease),
      sweep: deps.sweep,
    });
    this.staging = new Staging(entry, deps.registry, this.leases, deps);
  }

  /** Loads, registers, starts and publishes. @throws PluginProblem; what was begun is undone. */
  async start(): Promise<void> {
    const limit = this.entry.manifest?.timeouts?.start ?? defaultTimeouts.start;
    try {
      const definition = await this.#timed('import', () => this.#import(limit));
      this.#definition = definition;
      const host = await this.#timed('register', () => this.#register(definition));
      await this.#timed('start', () => this.#start(definition, host, limit));
      this.#stop.signal.throwIfAborted();
      host.enter('running');
      this.staging.publish();
      this.#deps.services.publish(this.entry.key, host.provided);
    } catch (error) {
      this.#stop.abort(error);
      this.staging.withdraw();
      if (this.#hasStarted) await this.#stopPlugin(this.#undoReason());
      await this.#release();
      throw error;
    }
    const missing = this.staging.missing();
    if (missing.length > 0)
      this.#deps.log.debug(
        { plugin: this.entry.key, missing },
        'the code does not add all contributions of the manifest',
      );
  }

  /** The start was ended from outside. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Ends a start that has not finished: the process is shutting down, or the plugin is no longer wanted. */
  cancelStart(): void {
    if (this.#host?.phase === 'running') return;
    this.#cancelled = true;
    this.#stop.abort(this.#stopping());
  }

  /** Lets the plugin finish what it has accepted while the others still run. */
  async drain(): Promise<void> {
    if (this.#ended) return;
    const late = (): Error => new Overrun('drain', 'drain() did not finish before the plugins were stopped');
    const until = this.#deps.deadline.until('drain');
    await this.#call('drain', (on) => on.drain?.(until), this.#limit('drain', maxDrainMs), late);
  }

  /**
   * Withdraws, waits for calls in flight, aborts what is left, stops, and releases everything. Aborted calls get the last
   * part of the drain limit to end, at most {@link abortGraceMs}.
   */
  async end(reason: StopReason): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.staging.withdraw();
    this.#deps.services.withdraw(this.entry.key);
    const drain = this.entry.manifest?.timeouts?.drain ?? defaultTimeouts.drain;
    const grace = Math.min(abortGraceMs, drain / 2);
    if (!(await this.leases.whenIdle(this.#limit('drain', drain - grace)))) {
      this.leases.abortAll(this.#stopping());
      if (!(await this.leases.whenIdle(this.#limit('abort', grace)))) this.leases.reportIgnored();
    }
    this.#stop.abort(this.#stopping());
    await this.#stopPlugin(reason);
    await this.#release();
  }

  async reconfigure(next: PluginConfig): Promise<'applied' | 'restart'> {
    const { reload, timeouts } = this.entry.manifest ?? {};
    if (reload !== 'live') return 'restart';
    const limit = timeouts?.start ?? defaultTimeouts.start;
    const late = (): Error => new Error(`reconfigure() did not finish within ${limit} ms`);
    const taken = await this.#call('reconfigure', (on) => on.reconfigure?.(next), milliseconds(limit), late);
    return taken === 'applied' ? 'applied' : 'restart';
  }

  async health(): Promise<PluginHealth | null> {
    const on = this.#lifecycle('health');
    if (!on) return null;
    const controller = new AbortController();
    try {
      const asked = this.#marked(async () => on.health?.(controller.signal));
      const late = (): Error => new Error(`health() did not answer within ${healthLimitMs} ms`);
      return (await withTimeLimit(asked, milliseconds(healthLimitMs), late, this.#stop.signal)) ?? null;
    } catch (error) {
      return { ok: false, detail: describeError(error) };
    } finally {
      controller.abort();
    }
  }

  async #stopPlugin(reason: StopReason): Promise<void> {
    const ms = this.entry.manifest?.timeouts?.stop ?? defaultTimeouts.stop;
    const late = (): Error => new Overrun('stop', `stop() did not finish within ${ms} ms`);
    await this.#call('stop', (on) => on.stop?.(reason), this.#limit('stop', ms), late);
  }

  async #stopLate(started: unknown): Promise<void> {
    try {
      this.#started = checkStarted(started);
    } catch {
      // Reported already; the definition may have a stop() of its own.
    }
    await this.#stopPlugin(this.#undoReason());
  }

  /** Why a plugin whose start() has returned does not become active. */
  #undoReason(): StopReason {
    if (!this.#cancelled) return 'failed';
    return this.#deps.deadline.begun ? 'shutdown' : 'disabled';
  }

  async #import(limit: number): Promise<PluginDefinition> {
    const done = await this.#deps.takeImport();
    const noted = this.#deps.note(this.entry.key, 'import');
    return loadDefinition(this.entry, limit, this.#stop.signal).finally(() => {
      noted();
      done();
    });
  }

  #register(definition: PluginDefinition): PluginHost {
    const host = this.#makeHost();
    this.#host = host;
    const done = this.#deps.note(this.entry.key, 'register');
    let returned: unknown;
    try {
      returned = this.#marked(() => definition.register?.(host));
    } catch (error) {
      throw error instanceof PluginProblem
        ? error
        : new PluginProblem(problem('register_failed', explainError(error, this.entry.codeFolder)), error);
    } finally {
      done();
    }
    if (isThenable(returned)) {
      void Promise.resolve(returned).catch(() => undefined);
      throw new PluginProblem(problem('register_async'));
    }
    return host;
  }

  async #start(definition: PluginDefinition, host: PluginHost, limit: number): Promise<void> {
    this.#stop.signal.throwIfAborted();
    host.enter('starting');
    if (!definition.start) {
      this.#hasStarted = true;
      return;
    }
    const { key, codeFolder } = this.entry;
    const called = this.#deps.note(key, 'start');
    const pending = this.#marked(async () => definition.start?.(host));
    called();
    const waited = this.#deps.note(key, 'waiting');
    try {
      const late = (): Error => new PluginProblem(problem('start_timeout', limit));
      this.#started = checkStarted(await withTimeLimit(pending, milliseconds(limit), late, this.#stop.signal));
      this.#hasStarted = true;
    } catch (error) {
      // A start that was given up may still finish: what it began is stopped then.
      void pending.then(
        (started) => this.#stopLate(started),
        () => undefined,
      );
      throw error instanceof PluginProblem || error === this.#stop.signal.reason
        ? error
        : new PluginProblem(startProblem(error, codeFolder), error);
    } finally {
      waited();
    }
  }

  #makeHost(): PluginHost {
    const { log, scheduler, openScope, registry, services, events, declared } = this.#deps;
    const { key } = this.entry;
    this.#scope = openScope(this.entry);
    const callbacks = new PluginCallbacks(this.leases, this.#stop.signal, (error) =>
      this.#deps.onFault(key, 'callback_failed', error),
    );
    return new PluginHost({
      entry: this.entry,
      config: this.#config,
      log: log.child({ plugin: key }),
      staging: this.staging,
      services,
      resources: this.#resources,
      points: new PluginPoints({
        caller: key,
        registry,
        declared,
        own: (undo) => this.#resources.defer(undo),
        guard: (run) => void callbacks.run('change', run),
      }),
      scope: this.#scope,
      events,
      signal: this.#stop.signal,
      callbacks,
      scheduler,
    });
  }

  async #release(): Promise<void> {
    const limit = this.entry.manifest?.timeouts?.stop ?? defaultTimeouts.stop;
    this.#host?.enter('stopped');
    this.#scope?.endTransactions();
    const late = (): Error => new Overrun('release', `something it held was not released within ${limit} ms`);
    const errors = await this.#resources.dispose((item) =>
      withTimeLimit(
        this.#marked(async () => item.dispose()),
        this.#limit('release', limit),
        late,
      ),
    );
    this.staging.withdraw();
    this.#scope?.endTransactions();
    await this.#scope?.dispose();
    for (const error of errors) this.#fault('release_failed', error);
  }

  /** Calls a function of the plugin's lifecycle, if it has one; a failure is a fault of the plugin. */
  async #call<R>(
    name: 'drain' | 'stop' | 'reconfigure',
    call: (on: PluginLifecycle) => R | Promise<R>,
    limit: Limit,
    late: () => Error,
  ): Promise<R | undefined> {
    const on = this.#lifecycle(name);
    if (!on) return undefined;
    try {
      const called: Promise<R> = this.#marked(async () => call(on));
      return await withTimeLimit(called, limit, late);
    } catch (error) {
      this.#fault(`${name}_failed`, error);
      return undefined;
    }
  }

  /** The object that has the function: what `start` returned comes before the definition. */
  #lifecycle(name: keyof PluginLifecycle): PluginLifecycle | undefined {
    return [this.#started, this.#definition].find((one) => one?.[name] !== undefined);
  }

  async #timed<T>(step: keyof LoadTimes, run: () => T | Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const from = clock.monotonic();
    try {
      return await run();
    } finally {
      this.times[step] = Math.round((clock.monotonic() - from) * 100) / 100;
    }
  }

  #marked<R>(run: () => R): R {
    return runMarked({ plugin: this.entry.key }, run);
  }

  /** @returns false while another plugin keeps this one from ending its call. */
  #ignoredAbort({ accountable, point, key, plugin }: Lease): boolean {
    const blocker = this.#deps.blocker?.();
    if (blocker !== undefined && blocker !== accountable) return false;
    const what = accountable === plugin ? `${point} "${key}"` : `what it does with ${point} "${key}"`;
    if (this.#deps.deadline.begun) this.#deps.onUnfinished({ plugin: accountable, what });
    else this.#deps.onFault(accountable, 'ignored_abort', new Error(`${what} went on after its signal was aborted`));
    return true;
  }

  /** What the end of the process cut short is only noted. */
  #fault(code: string, error: unknown): void {
    const plugin = this.entry.key;
    if (error instanceof Overrun && this.#deps.deadline.begun) {
      this.#deps.onUnfinished({ plugin, what: `${error.step}()` });
    } else this.#deps.onFault(plugin, code, error);
  }

  #limit(step: StopStep, ms: number): Limit {
    return (run) => this.#deps.deadline.after(step, ms, run);
  }

  #stopping(): MortiseError {
    const { key } = this.entry;
    return new MortiseError('plugin_stopping', `The plugin ${key} is being stopped.`, { status: 503, retryable: true });
  }
}
