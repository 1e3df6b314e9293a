import type { Desired } from '../kernel/deps.js';
import type { Kernel, PluginConfigs } from '../kernel/kernel.js';
import { problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';

/** A plugin that is to be enabled, and the one that would have to stop because both claim one key. */
export interface Displacement {
  readonly key: string;
  readonly claim: string;
  readonly owner: string;
}

/** The first plugin that can run now, and could not once `keys` are enabled as well. */
export function displacedBy(
  kernel: Kernel,
  next: Desired,
  keys: readonly string[],
  configs?: PluginConfigs,
): Displacement | undefined {
  const { plugins: before } = kernel.planFor(kernel.desired);
  for (const [owner, { contested }] of kernel.planFor(next, configs).plugins) {
    if (!contested || keys.includes(owner) || before.get(owner)?.problem !== null) continue;
    const key = keys.find((one) => contested.claimants.includes(one) && !before.has(one));
    if (key !== undefined) return { key, claim: contested.claim, owner };
  }
  return undefined;
}

/** @throws MortiseError `key_conflict` (409) */
export function refuseDisplacement(kernel: Kernel, next: Desired, keys: readonly string[]): void {
  const found = displacedBy(kernel, next, keys);
  if (!found) return;
  const { key, claim, owner } = found;
  const { message, hint } = problem('key_taken', claim, owner);
  throw new MortiseError('key_conflict', message, {
    status: 409,
    details: { key, claim, owner },
    hint: hint.replaceAll('<key>', key),
  });
}

type DependencyGraph = Pick<Kernel, 'dependants' | 'isEnabled' | 'isRequired'>;

/**
 * Refuses to disable a plugin that others require, unless they are disabled with it, and one that the installation
 * requires.
 *
 * @returns the plugins that are to be disabled with it
 * @throws MortiseError `plugin_has_dependants`, `plugin_required` (409)
 */
export function refuseDisable(kernel: DependencyGraph, key: string, cascade: boolean): readonly string[] {
  if (!cascade && !kernel.isEnabled(key)) return [];
  const dependants = kernel.dependants(key);
  const required = requiredOf(kernel, [key, ...dependants]);
  const refusal = required === undefined ? undefined : problem('plugin_required', required);
  if (!cascade && dependants.length > 0) {
    throw new MortiseError('plugin_has_dependants', `Other plugins need ${key}: ${dependants.join(', ')}.`, {
      status: 409,
      details: { key, dependants },
      hint: refusal?.hint ?? `Disable them first, or all together: mortise plugin disable ${key} --cascade`,
    });
  }
  if (!refusal) return dependants;
  throw new MortiseError(refusal.code, refusal.message, {
    status: 409,
    details: { key, required, dependants },
    hint: refusal.hint,
  });
}

/** The first of these plugins that should run and is required. */
export function requiredOf(kernel: DependencyGraph, keys: readonly string[]): string | undefined {
  return keys.find((key) => kernel.isEnabled(key) && kernel.isRequired(key));
}

/** Rows under a former key or another spelling become one row under the present key. */
export function withToggled(
  kernel: Pick<Kernel, 'resolve'>,
  plugins: Desired['plugins'],
  keys: readonly string[],
  enabled: boolean,
): Desired['plugins'] {
  const next = { ...plugins };
  for (const key of keys) {
    const before = Object.entries(plugins).filter(([name]) => kernel.resolve(name) === key);
    for (const [name] of before) if (name !== key) delete next[name];
    next[key] = { ...Object.assign({}, ...before.map(([, wanted]) => wanted)), ...plugins[key], enabled };
  }
  return next;
}
