import satisfies from 'semver/functions/satisfies.js';
import { type Problem, problem, problemOf } from '../messages/plugin-problems.js';
import type { PluginStateName } from '../sdk/plugin-state.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps, PluginConfigSource } from './deps.js';
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
    const shown = found && problemOf(this.key, found);
    if (state === this.state && shown?.code === this.problem?.code && shown?.message === this.problem?.message)
      return undefined;
    const before = this.state;
    this.state = state;
    this.problem = shown;
    if (before === state) return before;
    this.since = at;
    this.history.push({ state, at, code: shown?.code ?? null });
    if (this.history.length > historyLength) this.history.shift();
    return before;
  }
}

/**
 * The reason that keeps one plugin out whatever the others are: its engines, its past, safe mode, or its configuration
 * (`config` if given).
 *
 * @param required plugins.json says that the platform is not ready without it
 */
export function ownProblem(
  entry: CatalogueEntry,
  record: PluginRecord | undefined,
  required: boolean,
  { safeMode, suspect, versions }: Pick<KernelDeps, 'suspect' | 'safeMode' | 'versions'>,
  config?: Readonly<Record<string, unknown>>,
): Problem | null {
  for (const [what, range] of Object.entries(entry.manifest?.engines ?? {})) {
    const present = what === 'node' ? versions.node : versions.mortise;
    if (range && !satisfies(present, range, { includePrerelease: true }))
      return problem('engine_mismatch', what, range, present);
  }
  if (record?.stuck && record.problem) return record.problem;
  const found = suspect(entry.key);
  if (found && (found.sure || !required))
    return found.code === 'boot_crash' ? problem(found.code, found.detail) : problem(found.code, Number(found.detail));
  if (safeMode && !required) return problem('safe_mode');
  const source = record?.config;
  if (config) {
    const issues = source?.check(config) ?? [];
    return issues.length > 0 ? problem('invalid_config', issues) : null;
  }
  if (!source || source.snapshot) return null;
  // The message of the settings names the variable or the file.
  return problem('invalid_config', source.problem?.message ?? 'It cannot be read.');
}

/** The plugin is kept out because of how the process ended. */
export function isSuspicion(shown: Problem): boolean {
  return shown.code === 'boot_crash' || shown.code === 'blocked_event_loop';
}
