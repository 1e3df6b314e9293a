import { type Problem, problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { Kernel } from './kernel.js';
import type { Desired } from './ports.js';

type Configs = Parameters<Kernel['planFor']>[1];

/** A plugin that is to be enabled, and the one that would have to stop because both claim one key. */
export interface Displacement {
  readonly key: string;
  readonly claim: string;
  readonly owner: string;
}

/** The first plugin that can run as things are, and could not once `keys` are enabled as well. */
export function displacedBy(
  kernel: Kernel,
  next: Desired,
  keys: readonly string[],
  configs?: Configs,
): Displacement | undefined {
  const { plugins: before } = kernel.planFor(kernel.desired);
  for (const [owner, { contested }] of kernel.planFor(next, configs).plugins) {
    if (!contested || keys.includes(owner) || before.get(owner)?.problem !== null) continue;
    const key = keys.find((one) => contested.claimants.includes(one) && !before.has(one));
    if (key !== undefined) return { key, claim: contested.claim, owner };
  }
  return undefined;
}

export function displacementProblem({ claim, owner }: Displacement): Problem {
  return problem('key_taken', claim, owner);
}

/** @throws MortiseError `key_conflict` (409) */
export function refuseDisplacement(kernel: Kernel, next: Desired, keys: readonly string[]): void {
  const found = displacedBy(kernel, next, keys);
  if (!found) return;
  const { message, hint } = displacementProblem(found);
  const { key, claim, owner } = found;
  throw new MortiseError('key_conflict', message, {
    status: 409,
    details: { key, claim, owner },
    hint: hint.replaceAll('<key>', key),
  });
}
