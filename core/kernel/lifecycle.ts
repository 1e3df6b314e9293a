import { type Problem, problem } from '../messages/plugin-problems.js';
import type { PluginStateName } from '../sdk/events.js';
import type { StopReason } from '../sdk/plugin.js';
import { dependantsOf } from './plan.js';
import { describeError, errorCode, PluginProblem } from './plugin-problem.js';
import type { PluginRecord } from './plugin-record.js';
import { PluginRun } from './plugin-run.js';
import type { PluginRunPorts } from './plugin-run-ports.js';

export interface LifecyclePorts extends Omit<PluginRunPorts, 'imports'> {
  records(): readonly PluginRecord[];
  mayStart(record: PluginRecord): boolean;
  enter(record: PluginRecord, state: PluginStateName, shown: Problem | null): void;
}

/** Starts and stops plugins: what is required before what requires it, the rest side by side. */
export class Lifecycle {
  readonly #ports: LifecyclePorts;
  readonly #imports = new Turn();

  constructor(ports: LifecyclePorts) {
    this.#ports = ports;
  }

  /**
   * A plugin that does not start is no error here: its record says why. All of them are in `checking` until their turn
   * comes, so that whoever asks for one of them knows that it is to be waited for.
   */
  async startAll(records: readonly PluginRecord[]): Promise<void> {
    for (const record of records) this.#ports.enter(record, 'checking', null);
    const needs = (record: PluginRecord): PluginRecord[] =>
      records.filter((other) => record.required.includes(other.key));
    await inOrder(records, needs, (record) => this.#start(record));
  }

  /** Stops plugins with all that need them, dependants first. */
  async stopAll(records: readonly PluginRecord[], reason: StopReason): Promise<void> {
    const all = [...new Set([...records, ...records.flatMap((record) => this.#runningDependants(record.key))])];
    const dependants = (record: PluginRecord): PluginRecord[] =>
      all.filter((other) => other !== record && other.required.includes(record.key));
    await inOrder(all, dependants, (record) => this.#stop(record, records.includes(record) ? reason : 'dependency'));
  }

  async #start(record: PluginRecord): Promise<void> {
    const { deadline, enter } = this.#ports;
    if (deadline.begun || !this.#ports.mayStart(record)) {
      enter(record, 'disabled', null);
      return;
    }
    for (const key of record.required) {
      const needed = this.#ports.records().find((other) => other.key === key);
      if (needed?.state === 'active') continue;
      enter(record, 'blocked', problem('dependency_not_active', key, needed?.state ?? 'missing'));
      return;
    }
    const { snapshot } = record.config ?? {};
    const config = { value: snapshot?.config ?? Object.freeze({}), revision: snapshot?.revision ?? 0 };
    const run = new PluginRun(record.entry, config, { ...this.#ports, imports: this.#imports });
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
    this.#ports.enter(record, 'failed', known ? error.problem : problem('start_failed', describeError(error)));
    this.#ports.onFault(record.key, errorCode(error), known && error.cause ? error.cause : error);
  }

  async #stop(record: PluginRecord, reason: StopReason): Promise<void> {
    const run = record.run;
    if (!run) return;
    this.#ports.enter(record, 'draining', null);
    await run.end(reason);
    record.run = undefined;
    this.#ports.enter(record, 'disabled', null);
  }

  #runningDependants(key: string): PluginRecord[] {
    const running = this.#ports.records().filter((record) => record.run);
    const entries = running.map((record) => record.run?.entry ?? record.entry);
    const dependants = dependantsOf(key, entries, new Set(running.map((record) => record.key)));
    return running.filter((record) => dependants.includes(record.key));
  }
}

/**
 * Runs `run` for every item, each after those that `before` names for it; items that do not wait for each other run side
 * by side. Nothing may wait for itself.
 */
export async function inOrder<T>(
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

/** How long one holder may keep the others waiting, milliseconds. */
const patienceMs = 250;

/**
 * Lets one import run at a time, so that a crash can be put on the account of the module that was being loaded. A module
 * that waits at its top level gives its turn up after a moment: it must not hold up the others.
 */
export class Turn {
  #last: Promise<void> = Promise.resolve();

  async take(): Promise<() => void> {
    const before = this.#last;
    let done: () => void = () => undefined;
    const timer = { handle: undefined as NodeJS.Timeout | undefined };
    this.#last = new Promise((resolve) => {
      done = () => {
        clearTimeout(timer.handle);
        resolve();
      };
    });
    await before;
    timer.handle = setTimeout(done, patienceMs);
    return done;
  }
}
