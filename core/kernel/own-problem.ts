import satisfies from 'semver/functions/satisfies.js';
import { type Problem, problem } from '../messages/plugin-problems.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps } from './deps.js';
import type { PluginRecord } from './plugin-record.js';

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
  return ['boot_crash', 'blocked_event_loop', 'heap_exhausted'].includes(shown.code);
}
