import { type Problem, problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginConfig, PluginDefinition, PluginHealth, StopReason } from '../sdk/plugin.js';
import type { Contribution } from '../sdk/points.js';
import { runMarked } from './attribution.js';
import { CallStats } from './call-stats.js';
import type { CatalogueEntry } from './catalogue.js';
import { describeError } from './describe-error.js';
import type { EventBus } from './event-bus.js';
import { abortGraceMs, type Lease, LeaseBook } from './lease.js';
import { loadDefinition } from './plugin-code.js';
import { PluginHost } from './plugin-host.js';
import { PluginPoints } from './plugin-points.js';
import { PluginProblem } from './plugin-problem.js';
import type { KernelPorts, PluginScope } from './ports.js';
import type { Registry } from './registry.js';
import { ResourceStack } from './resource-stack.js';
import type { ServiceRegistry } from './service-registry.js';
import { Staging } from './staging.js';
import { withTimeLimit } from './time-limit.js';
import type { Turn } from './turn.js';

export const defaultTimeouts = { start: 10_000, stop: 5_000, drain: 30_000 } as const;

export interface LoadTimes {
  import: number | null;
  register: number | null;
  start: number | null;
}

export interface PluginRunPorts {
  readonly kernel: KernelPorts;
  readonly registry: Registry;
  readonly services: ServiceRegistry;
  readonly events: EventBus;
  /** One import at a time. */
  readonly imports: Turn;
  declared(point: string): readonly Contribution[];
  onFault(plugin: string, code: string, error: unknown): void;
}

/** One life of a plugin: from loading its code to giving back the last thing it held. */
export class PluginRun {
  readonly entry: CatalogueEntry;
  /** Of the configuration in force; grows when the plugin takes a new one over. */
  configRevision: number;
  readonly leases: LeaseBook;
  readonly staging: Staging;
  readonly times: LoadTimes = { import: null, register: null, start: null };
  readonly #ports: PluginRunPorts;
  readonly #config: PluginConfig;
  readonly #resources = new ResourceStack();
  readonly #stop = new AbortController();
  readonly #callbacks = new CallStats();
  #host: PluginHost | undefined;
  #scope: PluginScope | undefined;
  #definition: PluginDefinition | undefined;
  #ended = false;

  constructor(
    entry: CatalogueEntry,
    config: { readonly value: PluginConfig; readonly revision: number },
    ports: PluginRunPorts,
  ) {
    this.entry = entry;
    this.configRevision = config.revision;
    this.#config = config.value;
    this.#ports = ports;
    this.leases = new LeaseBook(entry.key, {
      monotonic: () => ports.kernel.clock.monotonic(),
      logFor: (lease) =>
        ports.kernel.log.child({ plugin: entry.key, request_id: lease.requestId, correlation_id: lease.correlationId }),
      onIgnoredAbort: (lease) =>
        ports.onFault(
          entry.key,
          'ignored_abort',
          new Error(`${lease.point} "${lease.key}" went on after it was told to stop`),
        ),
    });
    this.staging = new Staging(entry, ports.registry, this.leases, ports.kernel);
  }

  /** Loads, registers, starts and publishes. @throws PluginProblem; what was begun is undone. */
  async start(): Promise<void> {
    const { kernel } = this.#ports;
    const limit = this.entry.manifest?.timeouts?.start ?? defaultTimeouts.start;
    try {
      const done = await this.#ports.imports.take();
      this.#definition = await this.#timed('import', () => loadDefinition(this.entry, limit)).finally(done);
      await this.#timed('register', () => this.#register());
      await this.#timed('start', () => this.#start(limit));
    } catch (error) {
      this.#stop.abort(error);
      await this.#release();
      throw error;
    }
    this.#host?.enter('running');
    this.staging.publish();
    this.#ports.services.publish(this.entry.key, this.#host?.provided ?? new Map());
    const missing = this.staging.missing();
    if (missing.length > 0)
      kernel.log.debug(
        { plugin: this.entry.key, missing },
        'the manifest lists contributions that the code does not add',
      );
  }

  /** Withdraws, waits for calls in flight, aborts what is left, stops, and gives everything back. */
  async end(reason: StopReason, drainMs: number): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.staging.withdraw();
    this.#ports.services.withdraw(this.entry.key);
    if (!(await this.leases.whenIdle(drainMs))) {
      this.leases.abortAll(
        new MortiseError('plugin_stopping', `The plugin ${this.entry.key} is being stopped.`, {
          status: 503,
          retryable: true,
        }),
      );
      if (!(await this.leases.whenIdle(Math.min(abortGraceMs, Math.max(drainMs, 250))))) {
        this.#ports.onFault(
          this.entry.key,
          'ignored_abort',
          new Error('calls went on after the plugin was told to stop'),
        );
      }
    }
    this.#stop.abort(new MortiseError('plugin_stopping', `The plugin ${this.entry.key} is being stopped.`));
    await this.#stopDefinition(reason, drainMs);
    await this.#release();
  }

  async reconfigure(next: PluginConfig): Promise<'applied' | 'restart'> {
    const definition = this.#definition;
    if (this.entry.manifest?.reload !== 'live' || !definition?.reconfigure) return 'restart';
    try {
      return (await runMarked({ plugin: this.entry.key }, async () => definition.reconfigure?.(next))) ?? 'restart';
    } catch (error) {
      this.#ports.onFault(this.entry.key, 'reconfigure_failed', error);
      return 'restart';
    }
  }

  async health(): Promise<PluginHealth | null> {
    const definition = this.#definition;
    if (!definition?.health) return null;
    const controller = new AbortController();
    try {
      const asked = runMarked({ plugin: this.entry.key }, async () => definition.health?.(controller.signal));
      return (await withTimeLimit(asked, 5_000, () => new Error('no answer within 5 s'))) ?? null;
    } catch (error) {
      return { ok: false, detail: describeError(error) };
    } finally {
      controller.abort();
    }
  }

  #register(): void {
    const definition = this.#definition;
    if (!definition) return;
    const host = this.#makeHost();
    this.#host = host;
    const done = this.#ports.kernel.note(this.entry.key, 'register');
    let returned: unknown;
    try {
      returned = runMarked({ plugin: this.entry.key }, () => definition.register(host));
    } catch (error) {
      throw error instanceof PluginProblem
        ? error
        : new PluginProblem(problem('register_failed', describeError(error)), error);
    } finally {
      done();
    }
    if (returned !== undefined && typeof (returned as { then?: unknown } | null)?.then === 'function') {
      void Promise.resolve(returned).catch(() => undefined);
      throw new PluginProblem(problem('register_async'));
    }
  }

  async #start(limit: number): Promise<void> {
    const host = this.#host;
    const definition = this.#definition;
    if (!host || !definition) return;
    host.enter('starting');
    if (!definition.start) return;
    const done = this.#ports.kernel.note(this.entry.key, 'start');
    let pending: Promise<void>;
    try {
      pending = runMarked({ plugin: this.entry.key }, async () => definition.start?.(host));
    } finally {
      done();
    }
    try {
      await withTimeLimit(pending, limit, () => new PluginProblem(problem('start_timeout', limit)));
    } catch (error) {
      throw error instanceof PluginProblem ? error : new PluginProblem(startProblem(error), error);
    }
  }

  #makeHost(): PluginHost {
    const { kernel, registry, services, events, declared } = this.#ports;
    this.#scope = kernel.openScope(this.entry);
    const guard = (kind: string, run: (signal: AbortSignal) => unknown) => () => this.#callback(kind, run);
    return new PluginHost({
      entry: this.entry,
      config: this.#config,
      log: kernel.log.child({ plugin: this.entry.key }),
      staging: this.staging,
      services,
      resources: this.#resources,
      points: new PluginPoints({
        registry,
        declared,
        own: (undo) => this.#resources.defer(undo),
        guard: (run) => void this.#callback('change', run),
      }),
      scope: this.#scope,
      events,
      signal: this.#stop.signal,
      callback: guard,
      every: (ms, run) => kernel.scheduler.every(ms, run),
      cron: (expression, zone, run) => kernel.scheduler.cron(expression, zone, run),
    });
  }

  /** A timer, event or change that reaches the plugin: leased, and its failure is the plugin's own. */
  #callback(kind: string, run: (signal: AbortSignal) => unknown): unknown {
    if (this.#stop.signal.aborted) return undefined;
    let lease: Lease;
    try {
      lease = this.leases.open('callback', kind, this.#callbacks, 0, undefined);
    } catch {
      return undefined;
    }
    const failed = (error: unknown): void => {
      if (!lease.aborted) this.#ports.onFault(this.entry.key, 'callback_failed', error);
    };
    try {
      const result = runMarked(lease, run, this.#stop.signal);
      if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') {
        lease.end(false);
        return undefined;
      }
      return lease.settle(result as PromiseLike<unknown>).catch(failed);
    } catch (error) {
      lease.end(true);
      failed(error);
      return undefined;
    }
  }

  async #stopDefinition(reason: StopReason, limitMs: number): Promise<void> {
    const definition = this.#definition;
    if (!definition?.stop) return;
    const limit = Math.min(this.entry.manifest?.timeouts?.stop ?? defaultTimeouts.stop, Math.max(limitMs, 1_000));
    try {
      await withTimeLimit(
        runMarked({ plugin: this.entry.key }, async () => definition.stop?.(reason)),
        limit,
        () => new Error(`stop() did not finish within ${limit} ms`),
      );
    } catch (error) {
      this.#ports.onFault(this.entry.key, 'stop_failed', error);
    }
  }

  async #release(): Promise<void> {
    this.#host?.enter('stopped');
    const errors = await this.#resources.dispose();
    this.staging.withdraw();
    await this.#scope?.dispose();
    for (const error of errors) this.#ports.onFault(this.entry.key, 'release_failed', error);
  }

  async #timed<T>(step: keyof LoadTimes, run: () => T | Promise<T>): Promise<T> {
    const from = this.#ports.kernel.clock.monotonic();
    const done = step === 'import' ? this.#ports.kernel.note(this.entry.key, 'import') : undefined;
    try {
      return await run();
    } finally {
      done?.();
      this.times[step] = Math.round((this.#ports.kernel.clock.monotonic() - from) * 100) / 100;
    }
  }
}

/** A coded error keeps its code, so that others can tell a dead database from a mistake in the plugin. */
function startProblem(error: unknown): Problem {
  const shown = problem('start_failed', describeError(error));
  return error instanceof MortiseError
    ? { code: error.code, message: shown.message, hint: error.hint ?? shown.hint }
    : shown;
}
