import { problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginConfig, PluginDefinition, PluginLifecycle, StopReason } from '../sdk/plugin.js';
import type { PluginHealth } from '../sdk/plugin-health.js';
import { runMarked } from './attribution.js';
import type { CatalogueEntry } from './catalogue.js';
import type { PluginScope } from './deps.js';
import { abortGraceMs } from './lease.js';
import { type LeaseBook, openLeaseBook } from './lease-book.js';
import { PluginCallbacks } from './plugin-callbacks.js';
import { checkStarted, loadDefinition } from './plugin-code.js';
import { PluginHost } from './plugin-host.js';
import { PluginOutput } from './plugin-output.js';
import { PluginPoints } from './plugin-points.js';
import { describeError, explainError, PluginProblem, startProblem } from './plugin-problem.js';
import type { PluginRunPorts } from './plugin-run-ports.js';
import { ResourceStack } from './resource-stack.js';
import { Overrun, type StopStep } from './shutdown-deadline.js';
import { Staging } from './staging.js';
import { isThenable, type Limit, milliseconds, withTimeLimit } from './time-limit.js';

const defaultTimeouts = { start: 10_000, stop: 5_000, drain: 30_000 } as const;
const healthLimitMs = 5_000;
/** The shutdown has a limit of its own, which is shorter. */
const longestDrainMs = 3_600_000;

export interface LoadTimes {
  import: number | null;
  register: number | null;
  start: number | null;
}

/** One life of a plugin: from loading its code to giving back the last thing it held. */
export class PluginRun {
  readonly entry: CatalogueEntry;
  /** Of the configuration in force; grows when the plugin takes a new one over. */
  configRevision: number;
  readonly leases: LeaseBook;
  readonly staging: Staging;
  readonly output: PluginOutput;
  readonly times: LoadTimes = { import: null, register: null, start: null };
  readonly #ports: PluginRunPorts;
  readonly #config: PluginConfig;
  readonly #resources = new ResourceStack();
  readonly #stop = new AbortController();
  #host: PluginHost | undefined;
  #scope: PluginScope | undefined;
  #definition: PluginDefinition | undefined;
  /** What `start` returned. */
  #started: PluginLifecycle = {};
  #cancelled = false;
  #ended = false;

  constructor(
    entry: CatalogueEntry,
    config: { readonly value: PluginConfig; readonly revision: number },
    ports: PluginRunPorts,
  ) {
    const { log, clock } = ports.kernel;
    this.entry = entry;
    this.configRevision = config.revision;
    this.#config = config.value;
    this.#ports = ports;
    this.output = new PluginOutput(entry.key, log, () => clock.monotonic());
    this.leases = openLeaseBook(entry.key, this.output, ports);
    this.staging = new Staging(entry, ports.registry, this.leases, ports.kernel);
  }

  /** Loads, registers, starts and publishes. @throws PluginProblem; what was begun is undone. */
  async start(): Promise<void> {
    const limit = this.entry.manifest?.timeouts?.start ?? defaultTimeouts.start;
    try {
      this.#definition = await this.#timed('import', () => this.#import(limit));
      await this.#timed('register', () => this.#register());
      await this.#timed('start', () => this.#start(limit));
      this.#stop.signal.throwIfAborted();
      this.#host?.enter('running');
      this.staging.publish();
    } catch (error) {
      this.#stop.abort(error);
      await this.#release();
      throw error;
    }
    this.#ports.services.publish(this.entry.key, this.#host?.provided ?? new Map());
    const missing = this.staging.missing();
    if (missing.length > 0)
      this.#ports.kernel.log.debug(
        { plugin: this.entry.key, missing },
        'the manifest lists contributions that the code does not add',
      );
  }

  /** The start was ended from outside. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Ends a start that has not come to its end: the process is shutting down, or the plugin is not wanted any more. */
  cancelStart(): void {
    if (this.#host?.phase === 'running') return;
    this.#cancelled = true;
    this.#stop.abort(this.#stopping());
  }

  /** Lets the plugin finish what it has accepted while the others still run. */
  async drain(): Promise<void> {
    const called = this.#lifecycle('drain');
    if (!called || this.#ended) return;
    try {
      const drained = this.#marked(async () => called.drain?.(this.#ports.deadline.until('drain')));
      const late = (): Error => new Overrun('drain', 'drain() did not finish before the plugins were stopped');
      await withTimeLimit(drained, this.#limit('drain', longestDrainMs), late);
    } catch (error) {
      this.#fault('drain_failed', error);
    }
  }

  /** Withdraws, waits for calls in flight, aborts what is left, stops, and gives everything back. */
  async end(reason: StopReason): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.staging.withdraw();
    this.#ports.services.withdraw(this.entry.key);
    const timeouts = { ...defaultTimeouts, ...this.entry.manifest?.timeouts };
    if (!(await this.leases.whenIdle(this.#limit('drain', timeouts.drain)))) {
      this.leases.abortAll(this.#stopping());
      if (!(await this.leases.whenIdle(this.#limit('abort', abortGraceMs)))) this.leases.reportIgnored();
    }
    this.#stop.abort(this.#stopping());
    await this.#stopDefinition(reason, timeouts.stop);
    await this.#release();
  }

  async reconfigure(next: PluginConfig): Promise<'applied' | 'restart'> {
    const called = this.#lifecycle('reconfigure');
    if (this.entry.manifest?.reload !== 'live' || !called) return 'restart';
    const limit = this.entry.manifest.timeouts?.start ?? defaultTimeouts.start;
    try {
      const taken = this.#marked(async () => called.reconfigure?.(next));
      const late = (): Error => new Error(`reconfigure() did not finish within ${limit} ms`);
      return (await withTimeLimit(taken, milliseconds(limit), late)) === 'applied' ? 'applied' : 'restart';
    } catch (error) {
      this.#fault('reconfigure_failed', error);
      return 'restart';
    }
  }

  async health(): Promise<PluginHealth | null> {
    const called = this.#lifecycle('health');
    if (!called) return null;
    const controller = new AbortController();
    try {
      const asked = this.#marked(async () => called.health?.(controller.signal));
      const late = (): Error => new Error(`health() did not answer within ${healthLimitMs} ms`);
      return (await withTimeLimit(asked, milliseconds(healthLimitMs), late, this.#stop.signal)) ?? null;
    } catch (error) {
      return { ok: false, detail: describeError(error) };
    } finally {
      controller.abort();
    }
  }

  async #import(limit: number): Promise<PluginDefinition> {
    const done = await this.#ports.imports.take();
    const noted = this.#ports.kernel.note(this.entry.key, 'import');
    return loadDefinition(this.entry, limit, this.#stop.signal).finally(() => {
      noted();
      done();
    });
  }

  #register(): void {
    const definition = this.#definition;
    if (!definition) return;
    const host = this.#makeHost();
    this.#host = host;
    const done = this.#ports.kernel.note(this.entry.key, 'register');
    let promised: PromiseLike<unknown> | undefined;
    try {
      // Looking for its `then` runs the plugin's code as well.
      promised = this.#marked(() => {
        const returned: unknown = definition.register?.(host);
        return isThenable(returned) ? returned : undefined;
      });
    } catch (error) {
      throw error instanceof PluginProblem
        ? error
        : new PluginProblem(problem('register_failed', explainError(error, this.entry.codeFolder)), error);
    } finally {
      done();
    }
    if (promised) {
      void Promise.resolve(promised).catch(() => undefined);
      throw new PluginProblem(problem('register_async'));
    }
  }

  async #start(limit: number): Promise<void> {
    const host = this.#host;
    const definition = this.#definition;
    if (!host || !definition) return;
    this.#stop.signal.throwIfAborted();
    host.enter('starting');
    if (!definition.start) return;
    const { key, codeFolder } = this.entry;
    const called = this.#ports.kernel.note(key, 'start');
    const pending = this.#marked(async () => definition.start?.(host));
    called();
    const waited = this.#ports.kernel.note(key, 'waiting');
    try {
      const late = (): Error => new PluginProblem(problem('start_timeout', limit));
      this.#started = checkStarted(await withTimeLimit(pending, milliseconds(limit), late, this.#stop.signal));
    } catch (error) {
      throw error instanceof PluginProblem || error === this.#stop.signal.reason
        ? error
        : new PluginProblem(startProblem(error, codeFolder), error);
    } finally {
      waited();
    }
  }

  /** The object that has the function: what `start` returned goes before the definition. */
  #lifecycle(name: keyof PluginLifecycle): PluginLifecycle | undefined {
    return [this.#started, this.#definition].find((one) => one?.[name] !== undefined);
  }

  #makeHost(): PluginHost {
    const { kernel, registry, services, events, declared } = this.#ports;
    const scope = kernel.openScope(this.entry);
    this.#scope = scope;
    const callbacks = new PluginCallbacks(this.leases, this.#stop.signal, (error) =>
      this.#fault('callback_failed', error),
    );
    return new PluginHost({
      entry: this.entry,
      config: this.#config,
      log: this.output.bounded(kernel.log.child({ plugin: this.entry.key })),
      output: this.output,
      staging: this.staging,
      services,
      resources: this.#resources,
      points: new PluginPoints({
        caller: this.entry.key,
        registry,
        declared,
        own: (undo) => this.#resources.defer(undo),
        guard: (run) => void callbacks.run('change', run),
      }),
      scope,
      events,
      signal: this.#stop.signal,
      callback: (kind, run) => () => callbacks.run(kind, run),
      every: (ms, run) => kernel.scheduler.every(ms, run),
      cron: (expression, zone, run) => kernel.scheduler.cron(expression, zone, run),
    });
  }

  async #stopDefinition(reason: StopReason, limit: number): Promise<void> {
    const called = this.#lifecycle('stop');
    if (!called) return;
    try {
      const stopped = this.#marked(async () => called.stop?.(reason));
      const late = (): Error => new Overrun('stop', `stop() did not finish within ${limit} ms`);
      await withTimeLimit(stopped, this.#limit('stop', limit), late);
    } catch (error) {
      this.#fault('stop_failed', error);
    }
  }

  async #release(): Promise<void> {
    const limit = this.entry.manifest?.timeouts?.stop ?? defaultTimeouts.stop;
    this.#host?.enter('stopped');
    this.#scope?.letGo();
    const late = (): Error => new Overrun('release', `something it held was not given back within ${limit} ms`);
    const errors = await this.#resources.dispose((item) =>
      withTimeLimit(
        this.#marked(async () => item.dispose()),
        this.#limit('release', limit),
        late,
      ),
    );
    this.staging.withdraw();
    this.#scope?.letGo();
    await this.#scope?.dispose();
    for (const error of errors) this.#fault('release_failed', error);
  }

  async #timed<T>(step: keyof LoadTimes, run: () => T | Promise<T>): Promise<T> {
    const { clock } = this.#ports.kernel;
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

  /** What the end of the process cut short is only noted. */
  #fault(code: string, error: unknown): void {
    const plugin = this.entry.key;
    if (error instanceof Overrun && this.#ports.deadline.begun) {
      this.#ports.onUnfinished({ plugin, what: `${error.step}()` });
    } else this.#ports.onFault(plugin, code, error);
  }

  #limit(step: StopStep, ms: number): Limit {
    return (run) => this.#ports.deadline.after(step, ms, run);
  }

  #stopping(): MortiseError {
    const { key } = this.entry;
    return new MortiseError('plugin_stopping', `The plugin ${key} is being stopped.`, { status: 503, retryable: true });
  }
}
