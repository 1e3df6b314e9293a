import satisfies from 'semver/functions/satisfies.js';
import { type Problem, problem } from '../messages/plugin-problems.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps, Suspect } from './deps.js';
import type { PluginRecord } from './plugin-record.js';

/** What is known about a plugin besides its folder. */
export interface PluginFacts {
  readonly record: PluginRecord | undefined;
  /** plugins.json says that the platform is not ready without it. */
  readonly required: boolean;
  readonly deps: Pick<KernelDeps, 'suspect' | 'safeMode' | 'versions'>;
}

/**
 * The reason that keeps one plugin out whatever the others are: its engines, its past, safe mode, or its configuration
 * (`config` if given).
 */
export function ownProblem(
  entry: CatalogueEntry,
  { record, required, deps }: PluginFacts,
  config?: Readonly<Record<string, unknown>>,
): Problem | null {
  const engine = engineProblem(entry, deps.versions);
  if (engine) return engine;
  if (record?.stuck && record.problem) return record.problem;
  const suspect = deps.suspect(entry.key);
  if (suspect && (suspect.sure || !required)) return suspicion(suspect);
  if (deps.safeMode && !required) return problem('safe_mode');
  return configProblem(record, config);
}

/** The plugin is kept out because of how the process ended. */
export function isSuspicion(shown: Problem): boolean {
  return ['boot_crash', 'blocked_event_loop', 'heap_exhausted'].includes(shown.code);
}

function engineProblem(entry: CatalogueEntry, versions: KernelDeps['versions']): Problem | null {
  for (const [what, range] of Object.entries(entry.manifest?.engines ?? {})) {
    const present = what === 'node' ? versions.node : versions.mortise;
    if (range && !satisfies(present, range, { includePrerelease: true }))
      return problem('engine_mismatch', what, range, present);
  }
  return null;
}

function suspicion({ code, detail }: Suspect): Problem {
  if (code === 'boot_crash') return problem(code, detail);
  return problem(code, Number(detail));
}

/** What is wrong with a plugin's configuration, or with `config` if given. */
function configProblem(
  record: PluginRecord | undefined,
  config: Readonly<Record<string, unknown>> | undefined,
): Problem | null {
  const source = record?.config;
  if (config) {
    const issues = source?.check(config) ?? [];
    return issues.length > 0 ? problem('invalid_config', issues) : null;
  }
  if (!source || source.snapshot) return null;
  // The message of the settings names the variable or the file.
  return problem('invalid_config', source.problem?.message ?? 'It cannot be read.');
}
