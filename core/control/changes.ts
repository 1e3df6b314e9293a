import type { Inventory } from '../kernel/inventory.js';
import type { Kernel, PluginConfigs } from '../kernel/kernel.js';
import type { PluginRecord } from '../kernel/plugin-record.js';
import { problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';
import type { PluginChange, PluginPlan } from '../sdk/host/plugin-control.js';
import type { PluginManifest } from '../sdk/manifest.js';
import type { Desired } from '../settings/types.js';

/** What changes would start, stop, drain, block and permit. Changes nothing. */
export function planChanges(
  kernel: Kernel,
  changes: readonly PluginChange[],
  find: (key: string) => PluginRecord,
): PluginPlan {
  const plugins: Record<string, Desired['plugins'][string]> = { ...kernel.plugins.desired.plugins };
  const bindings: Record<string, string> = { ...kernel.plugins.desired.bindings };
  const configs = new Map<string, Readonly<Record<string, unknown>>>();
  for (const change of changes) {
    const { key } = find(change.key);
    const before = plugins[key] ?? { enabled: false };
    plugins[key] = { ...before, ...(change.enabled === undefined ? {} : { enabled: change.enabled }) };
    if (change.bind !== undefined) bindings[change.bind] = key;
    if (change.config) configs.set(key, change.config);
  }
  const needed = keepRequired(kernel, plugins);
  const refused = refuseDisplacements(kernel, { ...kernel.plugins.desired, plugins, bindings }, configs, plugins);
  const { plugins: plan } = kernel.planFor({ ...kernel.plugins.desired, plugins, bindings }, configs);
  const running = kernel.plugins.records().filter((record) => record.run);
  const starts = [...plan.values()].filter(
    ({ entry, problem }) => !problem && !running.some((record) => record.key === entry.key),
  );
  const stops = running.filter((record) => plan.get(record.key)?.problem !== null);
  const wider = starts.flatMap(({ entry }) =>
    permissionsOf(entry.manifest?.permissions).map((permission) => `${entry.key}: ${permission}`),
  );
  return {
    starts: starts.map(({ entry }) => entry.key),
    stops: stops.map((record) => record.key),
    drains: stops.flatMap((record) =>
      record.run && record.run.leases.inFlight > 0 ? [{ key: record.key, inFlight: record.run.leases.inFlight }] : [],
    ),
    blocked: [
      ...[...plan.values()].flatMap(({ entry, problem }) =>
        problem ? [{ key: entry.key, code: problem.code, message: problem.message }] : [],
      ),
      ...needed,
      ...refused,
    ],
    inert: [...plan.values()].flatMap(({ inert }) => inert),
    wider,
  };
}

/** Plugins whose disabling would be refused stay enabled in `plugins`. */
function keepRequired(kernel: Kernel, plugins: Record<string, Desired['plugins'][string]>): PluginPlan['blocked'] {
  const refused: PluginPlan['blocked'][number][] = [];
  for (const [key, wanted] of Object.entries(plugins)) {
    if (wanted.enabled || requiredOf(kernel, [key]) === undefined) continue;
    plugins[key] = { ...wanted, enabled: true };
    const { code, message } = problem('plugin_required', key);
    refused.push({ key, code, message });
  }
  return refused;
}

/** Plugins whose enabling would be refused, because a running one would have to stop, are disabled in `plugins`. */
function refuseDisplacements(
  kernel: Kernel,
  next: Desired,
  configs: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  plugins: Record<string, Desired['plugins'][string]>,
): PluginPlan['blocked'] {
  const refused: PluginPlan['blocked'][number][] = [];
  for (;;) {
    const keys = Object.keys(plugins).filter((key) => plugins[key]?.enabled && !kernel.plugins.isEnabled(key));
    const found = displacedBy(kernel, { ...next, plugins: { ...plugins } }, keys, configs);
    if (!found) return refused;
    plugins[found.key] = { ...plugins[found.key], enabled: false };
    refused.push({
      key: found.key,
      code: 'key_conflict',
      message: problem('key_taken', found.claim, found.owner).message,
    });
  }
}

function permissionsOf(permissions: PluginManifest['permissions']): readonly string[] {
  if (!permissions) return [];
  const { services = [], routes = [], network = [], secrets = [], files = [], exec = [] } = permissions;
  return [
    ...services.map((name) => `service ${name}`),
    ...routes.map(
      (route) =>
        `route ${[route.method ?? (route.kind === 'upgrade' ? 'UPGRADE' : 'GET')].flat().join('|')} ${route.path} (${route.auth})`,
    ),
    ...network.map((host) => `network ${host}`),
    ...secrets.map((name) => `secret ${name}`),
    ...files.map((folder) => `files ${folder}`),
    ...exec.map((program) => `exec ${program}`),
  ];
}

/** A plugin that is to be enabled, and the one that would have to stop because both claim one key. */
interface Displacement {
  readonly key: string;
  readonly claim: string;
  readonly owner: string;
}

/** The first plugin that can run now, and could not once `keys` are enabled as well. */
function displacedBy(
  kernel: Kernel,
  next: Desired,
  keys: readonly string[],
  configs?: PluginConfigs,
): Displacement | undefined {
  const { plugins: before } = kernel.planFor(kernel.plugins.desired);
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

type DependencyGraph = { readonly plugins: Pick<Inventory, 'dependants' | 'isEnabled' | 'isRequired'> };

/**
 * Refuses to disable a plugin that others require, unless they are disabled with it, and one that the installation
 * requires.
 *
 * @returns the plugins that are to be disabled with it
 * @throws MortiseError `plugin_has_dependants`, `plugin_required` (409)
 */
export function refuseDisable(kernel: DependencyGraph, key: string, cascade: boolean): readonly string[] {
  if (!cascade && !kernel.plugins.isEnabled(key)) return [];
  const dependants = kernel.plugins.dependants(key);
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
  return keys.find((key) => kernel.plugins.isEnabled(key) && kernel.plugins.isRequired(key));
}

/** Rows under a former key or another spelling become one row under the present key. */
export function withToggled(
  kernel: { readonly plugins: Pick<Inventory, 'resolve'> },
  plugins: Desired['plugins'],
  keys: readonly string[],
  enabled: boolean,
): Desired['plugins'] {
  const next = { ...plugins };
  for (const key of keys) {
    const before = Object.entries(plugins).filter(([name]) => kernel.plugins.resolve(name) === key);
    for (const [name] of before) if (name !== key) delete next[name];
    next[key] = { ...Object.assign({}, ...before.map(([, wanted]) => wanted)), ...plugins[key], enabled };
  }
  return next;
}
