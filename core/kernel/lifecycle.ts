import { describeError, errorCode, PluginProblem } from '../messages/plugin-problem.js';
import { type Problem, problem } from '../messages/plugin-problems.js';
import type { StopReason } from '../sdk/plugin.js';
import type { PluginStateName } from '../sdk/plugin-state.js';
import type { Inventory } from './inventory.js';
import { dependantsOf } from './plan.js';
import type { PluginRecord } from './plugin-record.js';
import { PluginRun, type PluginRunDeps } from './plugin-run.js';

interface LifecycleDeps extends Omit<PluginRunDeps, 'takeImport'> {
  readonly plugins: Pick<Inventory, 'records'>;
  mayStart(record: PluginRecord): boolean;
  enter(record: PluginRecord, state: PluginStateName, shown: Problem | null): void;
}

/** Starts and stops plugins: what is required before what requires it, the rest side by side. */
export class Lifecycle {
  readonly #deps: LifecycleDeps;
  readonly #runDeps: PluginRunDeps;

  constructor(deps: LifecycleDeps) {
    this.#deps = deps;
    this.#runDeps = { ...deps, takeImport: importQueue() };
  }

  /**
   * A plugin that does not start is no error here: its record has the reason. All of them enter `checking` at once, so
   * that a request for one of them knows to wait for it.
   */
  async startAll(records: readonly PluginRecord[]): Promise<void> {
    for (const record of records) this.#deps.enter(record, 'checking', null);
    const needs = (record: PluginRecord): PluginRecord[] =>
      records.filter((other) => record.required.includes(other.key));
    await inOrder(records, needs, (record) => this.#start(record));
  }

  /** Stops plugins with all that require them, dependants first. */
  async stopAll(records: readonly PluginRecord[], reason: StopReason): Promise<void> {
    const all = [...new Set([...records, ...records.flatMap((record) => this.#runningDependants(record.key))])];
    const dependants = (record: PluginRecord): PluginRecord[] =>
      all.filter((other) => other !== record && other.required.includes(record.key));
    await inOrder(all, dependants, (record) => this.#stop(record, records.includes(record) ? reason : 'dependency'));
  }

  async #start(record: PluginRecord): Promise<void> {
    const { deadline, enter, mayStart, plugins } = this.#deps;
    if (deadline.begun || !mayStart(record)) {
      enter(record, 'disabled', null);
      return;
    }
    for (const key of record.required) {
      const needed = plugins.records().find((other) => other.key === key);
      if (needed?.state === 'active') continue;
      enter(record, 'blocked', problem('dependency_not_active', key, needed?.state ?? 'missing'));
      return;
    }
    const { snapshot } = record.config ?? {};
    const config = { value: snapshot?.config ?? Object.freeze({}), revision: snapshot?.revision ?? 0 };
    const run = new PluginRun(record.entry, config, this.#runDeps);
    record.run = run;
    enter(record, 'starting', null);
    try {
      await run.start();
      enter(record, 'active', null);
    } catch (error) {
      record.run = undefined;
      if (deadline.begun || run.cancelled) enter(record, 'disabled', null);
      else this.#startFailed(record, error);
    } finally {
      record.times = run.times;
    }
  }

  #startFailed(record: PluginRecord, error: unknown): void {
    const known = error instanceof PluginProblem;
    this.#deps.enter(record, 'failed', known ? error.problem : problem('start_failed', describeError(error)));
    this.#deps.onFault(record.key, errorCode(error), known && error.cause ? error.cause : error);
  }

  async #stop(record: PluginRecord, reason: StopReason): Promise<void> {
    const run = record.run;
    if (!run) return;
    this.#deps.enter(record, 'draining', null);
    await run.end(reason);
    record.run = undefined;
    this.#deps.enter(record, 'disabled', null);
  }

  #runningDependants(key: string): PluginRecord[] {
    const running = this.#deps.plugins.records().filter((record) => record.run);
    const entries = running.map((record) => record.run?.entry ?? record.entry);
    const dependants = dependantsOf(key, entries, new Set(running.map((record) => record.key)));
    return running.filter((record) => dependants.includes(record.key));
  }
}

/**
 * Runs `run` for every item, each after the items that `before` names for it; others run side by side. The order must
 * not be circular.
 */
async function inOrder<T>(
  items: Iterable<T>,
  before: (item: T) => readonly T[],
  run: (item: T) => Promise<void>,
): Promise<void> {
  const begun = new Map<T, Promise<void>>();
  const begin = (item: T): Promise<void> => {
    const known = begun.get(item);
    if (known) return known;
    const task = (async () => {
      await Promise.all(before(item).map(begin));
      await run(item);
    })();
    begun.set(item, task);
    return task;
  };
  await Promise.all([...items].map(begin));
}

/** How long one import may delay the next, milliseconds. */
const importPatienceMs = 250;

/**
 * One import at a time, so that a crash can be attributed to the module that was being loaded. A module that awaits at
 * its top level delays the next only for a moment.
 */
function importQueue(): PluginRunDeps['takeImport'] {
  let last = Promise.resolve();
  return async () => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    const timer = setTimeout(resolve, importPatienceMs);
    return () => {
      clearTimeout(timer);
      resolve();
    };
  };
}
