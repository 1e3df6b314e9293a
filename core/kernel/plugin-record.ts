import { type Problem, problemOf } from '../messages/plugin-problems.js';
import type { PluginStateName } from '../sdk/events.js';
import type { CatalogueEntry } from './catalogue.js';
import type { PluginConfigSource } from './deps.js';
import type { LoadTimes, PluginRun } from './plugin-run.js';

const historyLength = 50;
const faultWindowMs = 60_000;
const faultsCounted = 50;

/** Faults within {@link faultWindowSeconds} that put a plugin into quarantine. */
export const faultLimit = 5;
export const faultWindowSeconds = faultWindowMs / 1_000;

/** What the kernel knows of one plugin over all its runs. */
export class PluginRecord {
  entry: CatalogueEntry;
  state: PluginStateName = 'disabled';
  since: number;
  problem: Problem | null = null;
  tier = 0;
  run: PluginRun | undefined;
  config: PluginConfigSource | undefined;
  /** The schema that `config` was opened with, as text. */
  configSchema: string | undefined;
  lastFault: { readonly at: number; readonly code: string; readonly message: string } | null = null;
  /** Of the last start. */
  times: LoadTimes = { import: null, register: null, start: null };
  readonly history: { readonly state: PluginStateName; readonly at: number; readonly code: string | null }[] = [];
  /** Times of recent faults, epoch milliseconds. */
  #faults: readonly number[] = [];

  constructor(entry: CatalogueEntry, at: number) {
    this.entry = entry;
    this.since = at;
  }

  get key(): string {
    return this.entry.key;
  }

  get required(): readonly string[] {
    return this.entry.manifest?.requires ?? [];
  }

  /** Failed or quarantined: it stays out until an admin starts it again. */
  get stuck(): boolean {
    return this.state === 'failed' || this.state === 'quarantined';
  }

  /** @returns how many there were within the last minute, up to {@link faultsCounted}. */
  countFault(at: number, code: string, message: string): number {
    this.lastFault = { at, code, message };
    this.#faults = [...this.#faults.filter((before) => at - before < faultWindowMs).slice(1 - faultsCounted), at];
    return this.#faults.length;
  }

  forgetFaults(): void {
    this.#faults = [];
  }

  /** @returns the previous state, or undefined when nothing changed. */
  enter(state: PluginStateName, found: Problem | null, at: number): PluginStateName | undefined {
    const problem = found && problemOf(this.key, found);
    if (state === this.state && problem?.code === this.problem?.code && problem?.message === this.problem?.message)
      return undefined;
    const before = this.state;
    this.state = state;
    this.problem = problem;
    if (before === state) return before;
    this.since = at;
    this.history.push({ state, at, code: problem?.code ?? null });
    if (this.history.length > historyLength) this.history.shift();
    return before;
  }
}
