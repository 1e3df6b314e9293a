import { problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { Kernel } from './kernel.js';

type Known = Pick<Kernel, 'dependants' | 'isEnabled' | 'isRequired'>;

/**
 * Refuses to disable what others need, unless they go with it, and what the installation requires.
 * @returns the plugins that need it, which are to be disabled with it
 * @throws MortiseError `plugin_has_dependants`, `plugin_required` (409)
 */
export function refuseDisable(kernel: Known, key: string, cascade: boolean): readonly string[] {
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
export function requiredOf(kernel: Known, keys: readonly string[]): string | undefined {
  return keys.find((key) => kernel.isEnabled(key) && kernel.isRequired(key));
}
