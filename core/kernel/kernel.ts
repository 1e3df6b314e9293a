import { describeError, writtenInStacks } from '../messages/plugin-problem.js';
import type { Problem } from '../messages/plugin-problems.js';
import type { InertContribution } from '../sdk/host/plugin-control.js';
import type { StopReason } from '../sdk/plugin.js';
import type { PluginStateName } from '../sdk/plugin-state.js';
import type { Contribution, Points } from '../sdk/points.js';
import type { Desired } from '../settings/types.js';
import { runUnmarked } from './attribution.js';
import type { KernelDeps } from './deps.js';
import { EventBus } from './event-bus.js';
import { contributionId, declaredContributions } from './extension-points.js';
import { Faults } from './faults.js';
import { Inventory } from './inventory.js';
import { LeaseSweep } from './lease-book.js';
import { Lifecycle } from './lifecycle.js';
import { makePlan, type Plan } from './plan.js';
import { PluginPoints } from './plugin-points.js';
import { isSuspicion, ownProblem, type PluginRecord } from './plugin-record.js';
import { Registry } from './registry.js';
import { ServiceRegistry } from './service-registry.js';
import { ShutdownDeadline, type Unfinished } from './shutdown-deadline.js';

export type PluginConfigs = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/**
 * Loads, starts, stops and watches plugins. All changes are serial: each one compares what should run with what runs
 * and touches only the plugins where the two differ.
 */
export class Kernel {
  readonly deps: KernelDeps;
  /** The installed plugins. */
  readonly plugins: Inventory;
  readonly registry: Registry;
  readonly services = new ServiceRegistry();
  readonly events: EventBus;
  readonly sweep: LeaseSweep;
  /** The host's own calls into plugins (routes, commands). */
  readonly points: Points;
  readonly #deadline: ShutdownDeadline;
  readonly #lifecycle: Lifecycle;
  readonly #faults: Faults;
  /** Plugins that are about to be disabled: they are not started. */
  readonly #heldBack = new Set<readonly PluginRecord[]>();
  readonly #unfinished: Unfinished[] = [];
  /** Why the data schema of a point cannot be used, by its text; null when it can. */
  readonly #schemaProblems = new Map<string, string | null>();
  #queue: Promise<unknown> = Promise.resolve();
  /** Begun or waiting. */
  #operations = 0;
  #plan: Plan = { plugins: new Map(), points: new Map() };
  #desiredWatch: { dispose(): void | Promise<void> } | undefined;

  constructor(deps: KernelDeps) {
    this.deps = deps;
    this.registry = new Registry(deps.points);
    this.events = new EventBus((error) => deps.log.error({ err: error }, 'an event listener failed'));
    this.plugins = new Inventory(deps, (record) => this.#later(() => this.applyConfig(record)));
    this.sweep = new LeaseSweep(() => deps.clock.monotonic());
    this.#deadline = new ShutdownDeadline(() => deps.clock.now());
    this.#faults = new Faults({
      ...deps,
      events: this.events,
      plugins: this.plugins,
      quarantine: (record, shown) => this.#later(() => this.#quarantine(record, shown)),
    });
    this.#lifecycle = new Lifecycle({
      ...deps,
      registry: this.registry,
      services: this.services,
      events: this.events,
      deadline: this.#deadline,
      sweep: this.sweep,
      plugins: this.plugins,
      mayStart: (record) => ![...this.#heldBack].some((held) => held.includes(record)),
      declared: (point) => this.declared(point),
      enter: (record, state, shown) => this.#enter(record, state, shown),
      onFault: (plugin, code, error) => this.fault(plugin, code, error),
      onUnfinished: (unfinished) => void this.#unfinished.push(unfinished),
    });
    this.points = new PluginPoints({
      registry: this.registry,
      declared: (point) => this.declared(point),
      own: (undo) => ({ dispose: undo }),
      guard: (run) => run(),
    });
  }

  /** Reads the plugins and starts what should run. Resolves when every plugin has settled. */
  async boot(): Promise<void> {
    this.#desiredWatch = this.deps.desired.subscribe(() => {
      for (const record of this.plugins.records()) if (!this.plugins.isEnabled(record.key)) record.run?.cancelStart();
      this.#later(() => this.reconcile());
    });
    await this.serial(() => this.reconcile());
  }

  /** Reads the plugins and finds out what could run, without running any of it. */
  look(): Promise<void> {
    return this.serial(async () => {
      await this.#readPlan();
      this.registry.declare(this.#plan.points);
      for (const record of this.plugins.records()) this.#enterPlanned(record);
    });
  }

  /** Lets plugins finish what they have accepted, while all of them still run; part of the time until `deadline`. */
  async drain(deadline: number): Promise<void> {
    this.#deadline.begin(deadline);
    await Promise.all(
      this.plugins.records().map((record) => (record.state === 'active' ? record.run?.drain() : undefined)),
    );
  }

  /**
   * Stops all plugins, dependants first, within the time left until `deadline` (epoch milliseconds).
   *
   * @returns what had not ended when its time was over
   */
  async shutdown(deadline: number): Promise<readonly Unfinished[]> {
    this.#deadline.begin(deadline);
    for (const record of this.plugins.records()) if (record.state !== 'active') record.run?.cancelStart();
    await this.#desiredWatch?.dispose();
    await this.serial(async () => {
      const running = this.plugins.records().filter((record) => record.run);
      await this.#lifecycle.stopAll(running, 'shutdown');
      await this.plugins.dispose();
    });
    this.sweep.stop();
    return this.#unfinished;
  }

  /** Runs one operation after the other, as the host itself. */
  serial<T>(operation: () => Promise<T>): Promise<T> {
    const result = runUnmarked(() => this.#queue.then(operation, operation));
    const ended = (): void => {
      this.#operations -= 1;
    };
    this.#operations += 1;
    this.#queue = result.then(ended, ended);
    return result;
  }

  /** Reads the plugins again, for a plan of what is on the disk now. Call it inside {@link serial}. */
  rescan(): Promise<void> {
    return this.plugins.rescan();
  }

  /** As {@link rescan}, unless an operation runs, which may take as long as the calls that it waits for. */
  async rescanIfIdle(): Promise<void> {
    if (this.#operations === 0) await this.serial(() => this.rescan());
  }

  /** The plan as it would be with another desired state or other configurations. */
  planFor(desired: Desired, configs: PluginConfigs = new Map()): Plan {
    return makePlan({
      catalogue: this.plugins.entries(desired),
      enabled: this.plugins.enabled(desired),
      bindings: new Map(Object.entries(desired.bindings).map(([claim, key]) => [claim, this.plugins.resolve(key)])),
      points: this.deps.points,
      hostServices: this.deps.hostServices,
      schemaProblem: (schema) => this.#schemaProblem(schema),
      ownProblem: (entry) =>
        ownProblem(
          entry,
          this.plugins.record(entry.key),
          this.plugins.isRequired(entry.key),
          this.deps,
          configs.get(entry.key),
        ),
      stuck: (key) => {
        const state = this.plugins.record(key)?.state;
        return state === 'failed' || state === 'quarantined' ? state : undefined;
      },
    });
  }

  /** Makes what runs equal to what should run. Call it inside {@link serial}. */
  async reconcile(): Promise<void> {
    if (this.#deadline.begun) return;
    await this.#readPlan();
    const { plugins, points } = this.#plan;
    const outdated = this.registry.outdated(points);
    const stopping = this.plugins
      .records()
      .filter(
        ({ key, run }) =>
          run && (plugins.get(key)?.problem !== null || run.staging.held.some(({ point }) => outdated.includes(point))),
      );
    await this.#lifecycle.stopAll(stopping, 'disabled');
    this.registry.declare(points);
    const starting = this.plugins
      .records()
      .filter((record) => !record.run && plugins.get(record.key)?.problem === null);
    for (const record of this.plugins.records())
      if (!record.run && !starting.includes(record)) this.#enterPlanned(record);
    await this.#lifecycle.startAll(starting);
  }

  /** Ends unfinished starts of the plugins, and begins none until the returned function is called. */
  holdBack(records: readonly PluginRecord[]): () => void {
    const held = [...records];
    this.#heldBack.add(held);
    for (const record of held) record.run?.cancelStart();
    return () => void this.#heldBack.delete(held);
  }

  /** Stops a plugin and those that require it, and starts again what should run. */
  async restart(record: PluginRecord, reason: StopReason): Promise<void> {
    await this.#lifecycle.stopAll([record], reason);
    this.clear(record);
    await this.reconcile();
  }

  /** Stops all plugins, runs `between`, and starts what should run, also those that have failed. */
  async restartAll(between: () => Promise<void>): Promise<void> {
    await this.#lifecycle.stopAll(
      this.plugins.records().filter((record) => record.run),
      'restart',
    );
    await between();
    for (const record of this.plugins.records()) if (record.state === 'failed') this.clear(record);
    await this.reconcile();
  }

  /** Forgets that a plugin failed, so that the next {@link reconcile} starts it again. */
  clear(record: PluginRecord): void {
    this.deps.clearSuspect(record.key);
    record.forgetFaults();
    if (record.stuck) this.#enter(record, 'disabled', null);
  }

  /** Takes over a changed configuration. Call it inside {@link serial}. */
  async applyConfig(record: PluginRecord): Promise<'live' | 'restarted' | 'none'> {
    const snapshot = record.config?.snapshot;
    const run = record.run;
    if (!snapshot) return 'none';
    if (!run) {
      if (record.state === 'failed') this.clear(record);
      await this.reconcile();
      return 'restarted';
    }
    if (run.configRevision === snapshot.revision) return 'none';
    if ((await run.reconfigure(snapshot.config)) === 'applied') {
      run.configRevision = snapshot.revision;
      return 'live';
    }
    await this.restart(record, 'reconfigure');
    return 'restarted';
  }

  /** Contributions that enabled plugins declare in their manifests and do not serve now. */
  declared(point: string): readonly Contribution[] {
    const found: Contribution[] = [];
    if (!this.registry.isOpen(point)) return found;
    for (const { entry } of this.#plan.plugins.values()) {
      if (!entry.manifest) continue;
      for (const declared of declaredContributions(entry.manifest)) {
        if (declared.point !== point || declared.key.endsWith('*')) continue;
        const address = this.registry.address(point, entry.key, declared.key);
        if (this.registry.find(point, address)?.plugin === entry.key) continue;
        const facts = entry.facts.get(contributionId(point, declared.key));
        if (facts)
          found.push({ key: declared.key, plugin: entry.key, facts: facts as never, offers: [], active: false });
      }
    }
    return found;
  }

  /** Contributions of an enabled plugin that have no effect, because their point is closed. */
  inert(key: string): readonly InertContribution[] {
    return this.#plan.plugins.get(key)?.inert ?? [];
  }

  /** An uncaught error, unhandled rejection, ignored abort or failed start of a plugin. Coded errors are none. */
  fault(key: string, code: string, thrown: unknown): void {
    this.#faults.add(key, code, thrown);
  }

  /** Folders of the plugins' code as they are written in stacks, each with its plugin. */
  folders(): ReadonlyMap<string, string> {
    return new Map(
      this.plugins
        .entries()
        .flatMap(({ key, codeFolder }) =>
          codeFolder ? writtenInStacks(codeFolder).map((folder) => [folder, key] as const) : [],
        ),
    );
  }

  #schemaProblem(schema: Readonly<Record<string, unknown>>): string | null {
    const text = JSON.stringify(schema);
    const known = this.#schemaProblems.get(text);
    if (known !== undefined) return known;
    let found: string | null = null;
    try {
      this.deps.compile(schema, 'factsSchema');
    } catch (error) {
      found = describeError(error);
    }
    this.#schemaProblems.set(text, found);
    return found;
  }

  #later(operation: () => Promise<unknown>): void {
    void this.serial(operation).catch((error: unknown) =>
      this.deps.log.error({ err: error }, 'a change of plugins failed'),
    );
  }

  async #readPlan(): Promise<void> {
    await this.plugins.rescan();
    this.#plan = this.planFor(this.plugins.desired);
    for (const record of this.plugins.records()) record.tier = this.#plan.plugins.get(record.key)?.tier ?? 0;
  }

  async #quarantine(record: PluginRecord, shown: Problem): Promise<void> {
    if (record.state === 'quarantined' || !this.plugins.isEnabled(record.key)) return;
    await this.#lifecycle.stopAll([record], 'failed');
    this.#enter(record, 'quarantined', shown);
    await this.reconcile();
  }

  /** Enters the planned state of a plugin that does not run. */
  #enterPlanned(record: PluginRecord): void {
    const shown = this.#plan.plugins.get(record.key)?.problem;
    if (!shown) this.#enter(record, 'disabled', null);
    else if (this.deps.suspect(record.key) && isSuspicion(shown)) this.#enter(record, 'quarantined', shown);
    else if (!record.stuck) this.#enter(record, 'blocked', shown);
  }

  #enter(record: PluginRecord, state: PluginStateName, found: Problem | null): void {
    const { clean, clock, log } = this.deps;
    const shown = found && { ...found, message: clean(found.message), hint: clean(found.hint) };
    const before = record.enter(state, shown, clock.now());
    if (before === undefined) return;
    const fields = { plugin: record.key, from: before, to: state, code: shown?.code, problem: shown?.message };
    if (shown) log.warn(fields, 'plugin state');
    else log.debug(fields, 'plugin state');
    const { key, since } = record;
    this.events.emit('plugin-state', { key, from: before, to: state, code: shown?.code ?? null, at: since });
  }
}
