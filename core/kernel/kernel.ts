import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import semver from 'semver';
import { type Problem, problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginStateName } from '../sdk/events.js';
import type { StopReason } from '../sdk/plugin.js';
import { extensionPoints } from '../sdk/points/index.js';
import type { Contribution, Points } from '../sdk/points.js';
import { runUnmarked } from './attribution.js';
import { type CatalogueEntry, contributionId, declaredContributions, readCatalogue } from './catalogue.js';
import { describeError, errorCode } from './describe-error.js';
import { EventBus } from './event-bus.js';
import { dependantsOf, makePlan, type PlannedPlugin } from './plan.js';
import { PluginPoints } from './plugin-points.js';
import { PluginProblem } from './plugin-problem.js';
import { PluginRecord } from './plugin-record.js';
import { defaultTimeouts, PluginRun } from './plugin-run.js';
import type { Desired, KernelPorts } from './ports.js';
import { Registry } from './registry.js';
import { ServiceRegistry } from './service-registry.js';
import { Turn } from './turn.js';

/** How often open leases are checked against their limits, milliseconds. */
const sweepEveryMs = 20;
const faultWindowMs = 60_000;
const faultLimit = 5;

/**
 * Loads, starts, stops and watches plugins. All changes are serial: each one compares what should run with what runs
 * and touches only the plugins where the two differ.
 */
export class Kernel {
  readonly registry = new Registry(extensionPoints);
  readonly services = new ServiceRegistry();
  readonly events: EventBus;
  /** The host's own calls into plugins (routes, commands). */
  readonly points: Points;
  readonly #ports: KernelPorts;
  readonly #records = new Map<string, PluginRecord>();
  #catalogue: readonly CatalogueEntry[] = [];
  readonly #imports = new Turn();
  #queue: Promise<unknown> = Promise.resolve();
  #plan: ReadonlyMap<string, PlannedPlugin> = new Map();
  #sweeper: NodeJS.Timeout | undefined;
  #desiredWatch: { dispose(): void | Promise<void> } | undefined;
  #shutdownDeadline = 0;

  constructor(ports: KernelPorts) {
    this.#ports = ports;
    this.events = new EventBus((error) => ports.log.error({ error: describeError(error) }, 'an event listener failed'));
    this.points = new PluginPoints({
      registry: this.registry,
      declared: (point) => this.declared(point),
      own: (undo) => ({ dispose: undo }),
      guard: (run) => run(),
    });
  }

  get ports(): KernelPorts {
    return this.#ports;
  }

  get desired(): Desired {
    return this.#ports.desired.current;
  }

  records(): readonly PluginRecord[] {
    return [...this.#records.values()].sort((a, b) => a.tier - b.tier || (a.key < b.key ? -1 : 1));
  }

  record(key: string): PluginRecord | undefined {
    return this.#records.get(this.#resolve(key));
  }

  /** Reads the plugins and starts what should run. Resolves when every plugin has settled. */
  async boot(): Promise<void> {
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#sweeper.unref();
    this.#desiredWatch = this.#ports.desired.subscribe(
      () => void this.serial(() => this.reconcile()).catch(() => undefined),
    );
    await this.serial(() => this.reconcile());
  }

  /** Reads the plugins and says what could run, without running any of it. */
  look(): Promise<void> {
    return this.serial(async () => {
      await this.#rescan();
      this.#plan = this.planFor(this.desired);
      for (const record of this.#records.values()) {
        const planned = this.#plan.get(record.key);
        record.tier = planned?.tier ?? 0;
        if (planned?.problem) this.#enterProblem(record, planned.problem);
        else this.#enter(record, 'disabled', null);
      }
    });
  }

  /** Stops all plugins, dependants first, within the time left until `deadline` (epoch milliseconds). */
  async shutdown(deadline: number): Promise<void> {
    this.#shutdownDeadline = deadline;
    await this.#desiredWatch?.dispose();
    await this.serial(async () => {
      await this.#stopAll(
        this.records().filter((record) => record.run),
        'shutdown',
        'disabled',
      );
      for (const record of this.#records.values()) await record.config?.dispose();
    });
    clearInterval(this.#sweeper);
  }

  /** Runs one operation after the other, as the host itself. */
  serial<T>(operation: () => Promise<T>): Promise<T> {
    const result = runUnmarked(() => this.#queue.then(operation, operation));
    this.#queue = result.catch(() => undefined);
    return result;
  }

  isEnabled(key: string): boolean {
    return this.#enabledKeys().has(key);
  }

  isRequired(key: string): boolean {
    return Object.entries(this.desired.plugins).some(
      ([name, wanted]) => this.#resolve(name) === key && wanted.required === true,
    );
  }

  /** Enabled plugins whose manifests require `key`, directly or through others, dependants first. */
  dependants(key: string): readonly string[] {
    return dependantsOf(key, this.#catalogue, this.#enabledKeys());
  }

  /** The plan as it would be with another desired state. */
  planFor(
    desired: Desired,
    configs: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map(),
  ): ReadonlyMap<string, PlannedPlugin> {
    return makePlan({
      catalogue: this.#withMissing(desired),
      enabled: this.#enabledKeys(desired),
      bindings: new Map(Object.entries(desired.bindings)),
      points: extensionPoints,
      hostServices: this.#ports.hostServices,
      ownProblem: (entry) => this.#ownProblem(entry, configs.get(entry.key)),
      engineProblem: (entry) => this.#engineProblem(entry),
    });
  }

  /** Makes what runs equal to what should run. Call it inside {@link serial}. */
  async reconcile(): Promise<void> {
    await this.#rescan();
    const plan = this.planFor(this.desired);
    this.#plan = plan;
    for (const record of this.#records.values()) record.tier = plan.get(record.key)?.tier ?? 0;
    await this.#stopAll(
      this.records().filter((record) => record.run && plan.get(record.key)?.problem !== null),
      'disabled',
    );
    const starting: PluginRecord[] = [];
    for (const record of this.#records.values()) {
      const planned = plan.get(record.key);
      if (!planned) this.#enter(record, 'disabled', null);
      else if (planned.problem && !(record.state === 'failed' || record.state === 'quarantined'))
        this.#enterProblem(record, planned.problem);
      else if (!planned.problem && !record.run) starting.push(record);
    }
    await this.#startAll(starting);
  }

  /** Stops a plugin and those that need it, and starts again what should run. */
  async restart(record: PluginRecord, reason: StopReason): Promise<void> {
    await this.#stopAll([record, ...this.#runningDependants(record.key)], reason);
    this.clear(record);
    await this.reconcile();
  }

  /** Forgets that a plugin failed, so that the next pass starts it again. */
  clear(record: PluginRecord): void {
    if (record.state !== 'failed' && record.state !== 'quarantined') return;
    this.#ports.acquit(record.key);
    record.faults = [];
    this.#enter(record, 'disabled', null);
  }

  /** Takes over a changed configuration. Call it inside {@link serial}. */
  async applyConfig(record: PluginRecord): Promise<'live' | 'restarted' | 'none'> {
    const snapshot = record.config?.snapshot;
    const run = record.run;
    if (!snapshot || !this.isEnabled(record.key)) return 'none';
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
    for (const { entry } of this.#plan.values()) {
      if (!entry.manifest || !this.isEnabled(entry.key)) continue;
      for (const declared of declaredContributions(entry.manifest)) {
        if (declared.point !== point || declared.key.endsWith('*')) continue;
        if (this.registry.find(point, declared.key)?.plugin === entry.key) continue;
        const facts = entry.facts.get(contributionId(point, declared.key));
        if (facts) found.push({ key: declared.key, plugin: entry.key, facts: facts as never, active: false });
      }
    }
    return found;
  }

  /** An uncaught error, unhandled rejection, ignored abort or failed start of a plugin. Coded errors are none. */
  fault(key: string, code: string, error: unknown): void {
    const record = this.#records.get(key);
    const message = describeError(error);
    if (error instanceof MortiseError && !(error instanceof PluginProblem) && code === 'callback_failed') {
      this.#ports.log.warn({ plugin: key, code: error.code, error: message }, 'a plugin callback failed');
      return;
    }
    this.#ports.log.error(
      { plugin: key, code, error: message, stack: error instanceof Error ? error.stack : undefined },
      'a plugin failed',
    );
    if (!record) return;
    const now = this.#ports.clock.now();
    record.lastFault = { at: now, code, message };
    record.faults = [...record.faults.filter((at) => now - at < faultWindowMs), now];
    this.events.emit('alert', {
      source: `plugin:${key}`,
      severity: 'medium',
      code,
      message: `The plugin ${key} failed: ${message}.`,
    });
    if (record.faults.length >= faultLimit && record.state !== 'quarantined') {
      const shown = problem('repeated_faults', record.faults.length, faultWindowMs / 1_000, message);
      void this.serial(() => this.#quarantine(record, shown)).catch(() => undefined);
    }
  }

  /** Plugin code folders, for attributing a stack. */
  folders(): ReadonlyMap<string, string> {
    return new Map(
      this.#catalogue.flatMap((entry) =>
        entry.entry ? [[entry.entry.slice(0, entry.entry.lastIndexOf('/')), entry.key] as const] : [],
      ),
    );
  }

  async #quarantine(record: PluginRecord, shown: Problem): Promise<void> {
    if (record.state === 'quarantined') return;
    await this.#stopAll([record, ...this.#runningDependants(record.key)], 'failed');
    this.#enter(record, 'quarantined', shown);
    await this.reconcile();
  }

  async #startAll(records: readonly PluginRecord[]): Promise<void> {
    const begun = new Map<string, Promise<void>>();
    const wanted = new Map(records.map((record) => [record.key, record]));
    const start = (record: PluginRecord): Promise<void> => {
      const known = begun.get(record.key);
      if (known) return known;
      const task = (async () => {
        const needs = record.required.flatMap((key) => wanted.get(key) ?? []);
        if (needs.length > 0) await Promise.all(needs.map(start));
        await this.#start(record);
      })();
      begun.set(record.key, task);
      return task;
    };
    await Promise.all(records.map(start));
  }

  async #start(record: PluginRecord): Promise<void> {
    for (const key of record.required) {
      const needed = this.#records.get(key);
      if (needed?.state === 'active') continue;
      this.#enterProblem(record, problem('dependency_not_active', key, needed?.state ?? 'missing'));
      return;
    }
    this.#enter(record, 'checking', null);
    const snapshot = record.config?.snapshot;
    const run = new PluginRun(
      record.entry,
      { value: snapshot?.config ?? Object.freeze({}), revision: snapshot?.revision ?? 0 },
      {
        kernel: this.#ports,
        registry: this.registry,
        services: this.services,
        events: this.events,
        imports: this.#imports,
        declared: (point) => this.declared(point),
        onFault: (plugin, code, error) => this.fault(plugin, code, error),
      },
    );
    record.run = run;
    this.#enter(record, 'starting', null);
    try {
      await run.start();
      record.times = run.times;
      this.#enter(record, 'active', null);
    } catch (error) {
      record.run = undefined;
      record.times = run.times;
      const shown = error instanceof PluginProblem ? error.problem : problem('start_failed', describeError(error));
      this.#enter(record, 'failed', shown);
      this.fault(record.key, errorCode(error), error instanceof PluginProblem && error.cause ? error.cause : error);
    }
  }

  /** Dependants first; plugins that do not need each other stop side by side. */
  async #stopAll(
    records: readonly PluginRecord[],
    reason: StopReason,
    to: PluginStateName = 'disabled',
  ): Promise<void> {
    const all = new Set(records);
    for (const record of records) {
      for (const key of this.#runningDependants(record.key)) all.add(key);
    }
    const ended = new Map<PluginRecord, Promise<void>>();
    const end = (record: PluginRecord): Promise<void> => {
      const known = ended.get(record);
      if (known) return known;
      const task = (async () => {
        const first = [...all].filter((other) => other !== record && other.required.includes(record.key));
        await Promise.all(first.map(end));
        await this.#stop(record, records.includes(record) ? reason : 'dependency', to);
      })();
      ended.set(record, task);
      return task;
    };
    await Promise.all([...all].map(end));
  }

  async #stop(record: PluginRecord, reason: StopReason, to: PluginStateName): Promise<void> {
    const run = record.run;
    if (!run) return;
    this.#enter(record, 'draining', null);
    const own = record.entry.manifest?.timeouts?.drain ?? defaultTimeouts.drain;
    const left = this.#shutdownDeadline > 0 ? Math.max(0, this.#shutdownDeadline - this.#ports.clock.now()) : own;
    await run.end(reason, Math.min(own, left));
    record.run = undefined;
    this.#enter(record, to, null);
  }

  #runningDependants(key: string): PluginRecord[] {
    const running = new Set([...this.#records.values()].filter((record) => record.run).map((record) => record.key));
    return dependantsOf(
      key,
      [...this.#records.values()].map((record) => record.run?.entry ?? record.entry),
      running,
    ).flatMap((dependant) => this.#records.get(dependant) ?? []);
  }

  async #rescan(): Promise<void> {
    const check = this.#ports.compile(this.#ports.manifestSchema, 'plugin.json');
    const read = await readCatalogue(this.#ports.folders, (value) => check.check(value));
    const extra = this.#ports.extraEntries ?? [];
    this.#catalogue = [...read.filter((entry) => !extra.some((other) => other.key === entry.key)), ...extra];
    const present = this.#withMissing(this.desired);
    for (const entry of present) {
      const record = this.#records.get(entry.key);
      if (!record) this.#records.set(entry.key, new PluginRecord(entry, this.#ports.clock.now()));
      // A running plugin keeps the facts it was started with.
      else if (!record.run) record.entry = entry;
    }
    for (const record of [...this.#records.values()]) {
      if (record.run || present.some((entry) => entry.key === record.key)) continue;
      await record.config?.dispose();
      this.#records.delete(record.key);
    }
    await Promise.all([...this.#records.values()].map((record) => this.#loadConfig(record)));
  }

  async #loadConfig(record: PluginRecord): Promise<void> {
    const file = record.entry.manifest?.config;
    if (record.config || !file || record.entry.problem) return;
    const schema = await this.#readSchema(record.entry, file);
    if ('code' in schema) {
      record.entry = { ...record.entry, problem: schema as Problem };
      return;
    }
    try {
      const config = await this.#ports.config(record.key, schema);
      config.subscribe(() => void this.serial(() => this.applyConfig(record)).catch(() => undefined));
      record.config = config;
    } catch (error) {
      record.entry = { ...record.entry, problem: problem('config_schema', file, describeError(error)) };
    }
  }

  async #readSchema(entry: CatalogueEntry, file: string): Promise<Record<string, unknown> | Problem> {
    const inline = entry.facts.get('config:schema');
    if (inline) return { ...inline };
    try {
      return JSON.parse(await readFile(join(entry.folder, file), 'utf8')) as Record<string, unknown>;
    } catch (error) {
      return problem('config_schema', file, describeError(error));
    }
  }

  /** A running plugin keeps the facts it was started with; one that should run and is not there gets a row too. */
  #withMissing(desired: Desired): readonly CatalogueEntry[] {
    const running = new Map(
      [...this.#records.values()].flatMap((record) => (record.run ? [[record.key, record.run.entry] as const] : [])),
    );
    const present = this.#catalogue.map((entry) => running.get(entry.key) ?? entry);
    const known = new Set(present.map((entry) => entry.key));
    present.push(...[...running.values()].filter((entry) => !known.has(entry.key)));
    const missing = [...this.#enabledKeys(desired)].filter((key) => !known.has(key) && !running.has(key));
    return [
      ...present,
      ...missing.map((key) => ({
        key,
        source: 'local' as const,
        folder: '',
        entry: null,
        manifest: null,
        facts: new Map(),
        problem: problem('plugin_missing', key),
      })),
    ];
  }

  #ownProblem(entry: CatalogueEntry, config?: Readonly<Record<string, unknown>>): Problem | null {
    const record = this.#records.get(entry.key);
    const suspect = this.#ports.suspect(entry.key);
    if (suspect && record?.state !== 'quarantined') {
      if (record) this.#enter(record, 'quarantined', suspectProblem(suspect));
      return suspectProblem(suspect);
    }
    if (record && (record.state === 'failed' || record.state === 'quarantined') && record.problem)
      return record.problem;
    if (this.#ports.safeMode && !this.isRequired(entry.key)) return problem('safe_mode');
    if (config) {
      const issues = record?.config?.check(config) ?? [];
      return issues.length > 0 ? problem('invalid_config', issues) : null;
    }
    const source = record?.config;
    if (!source || source.snapshot) return null;
    const issues = source.problem?.issues ?? [];
    return problem(
      'invalid_config',
      issues.length > 0 ? issues : [{ path: '', message: source.problem?.message ?? 'cannot be read' }],
    );
  }

  #engineProblem(entry: CatalogueEntry): Problem | null {
    const engines = entry.manifest?.engines ?? {};
    for (const [what, range] of Object.entries(engines)) {
      const present = what === 'node' ? this.#ports.versions.node : this.#ports.versions.mortise;
      if (range && !semver.satisfies(present, range, { includePrerelease: true }))
        return problem('engine_mismatch', what, range, present);
    }
    return null;
  }

  #enabledKeys(desired: Desired = this.desired): ReadonlySet<string> {
    return new Set(
      Object.entries(desired.plugins)
        .filter(([, wanted]) => wanted.enabled)
        .map(([key]) => this.#resolve(key, desired)),
    );
  }

  /** The present key of a plugin that was renamed, or is spelt with the other joint. */
  #resolve(key: string, desired: Desired = this.desired): string {
    const renamed = desired.renamed[key] ?? key;
    const same = this.#catalogue.find(
      (entry) => contributionId('plugin', entry.key) === contributionId('plugin', renamed),
    );
    return same?.key ?? renamed;
  }

  #enterProblem(record: PluginRecord, shown: Problem): void {
    this.#enter(record, 'blocked', shown);
  }

  #enter(record: PluginRecord, state: PluginStateName, shown: Problem | null): void {
    const before = record.enter(state, shown, this.#ports.clock.now());
    if (before === undefined) return;
    const fields = { plugin: record.key, from: before, to: state, code: shown?.code, problem: shown?.message };
    if (shown) this.#ports.log.warn(fields, 'plugin state');
    else this.#ports.log.debug(fields, 'plugin state');
    this.events.emit('plugin-state', {
      key: record.key,
      from: before,
      to: state,
      code: shown?.code ?? null,
      at: record.since,
    });
  }

  #sweep(): void {
    const now = this.#ports.clock.monotonic();
    for (const record of this.#records.values()) record.run?.leases.sweep(now);
  }
}

function suspectProblem(suspect: {
  readonly code: 'boot_crash' | 'blocked_event_loop';
  readonly detail: string;
}): Problem {
  return suspect.code === 'boot_crash'
    ? problem('boot_crash', suspect.detail)
    : problem('blocked_event_loop', Number(suspect.detail));
}
