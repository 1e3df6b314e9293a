import { type Problem, problem } from '../messages/plugin-problems.js';
import type { InertContribution } from '../sdk/host/plugin-control.js';
import type { ManifestRoute, PluginManifest } from '../sdk/manifest.js';
import { isContributionKey } from '../sdk/points/point.js';
import type { CatalogueEntry } from './catalogue.js';
import {
  contributionId,
  declaredContributions,
  isReservedPoint,
  type KnownPoints,
  knownPoints,
  type PointSources,
  pointClaim,
} from './extension-points.js';

/** Paths that the host itself serves, in every state of the plugins. A manifest that declares one blocks its plugin. */
export const hostPaths = ['/healthz', '/ready', '/version'] as const;

/** What the plan is made from: facts only. */
export interface PlanInput extends PointSources {
  readonly catalogue: readonly CatalogueEntry[];
  readonly hostServices: readonly string[];
  /** A reason in the plugin itself: engines, configuration, quarantine, safe mode. */
  readonly ownProblem: (entry: CatalogueEntry) => Problem | null;
  /** The state of a plugin that stays out until an admin starts it again. */
  readonly stuck: (key: string) => 'failed' | 'quarantined' | undefined;
}

interface PlannedPlugin {
  readonly entry: CatalogueEntry;
  /** 0 = requires nothing; otherwise one more than the highest tier it requires. */
  readonly tier: number;
  /** Null: it can start once what it requires is active. */
  readonly problem: Problem | null;
  /** A claim of several plugins that is bound to none of them, so that none is started. */
  readonly contested: Contested | null;
  /** What it contributes to points that are closed, which it can do without. */
  readonly inert: readonly InertContribution[];
}

export interface Plan {
  /** The enabled plugins, those that require nothing first. */
  readonly plugins: ReadonlyMap<string, PlannedPlugin>;
  readonly points: KnownPoints;
}

interface Contested {
  readonly claim: string;
  readonly claimants: readonly string[];
}

/** Decides, before any code runs, which enabled plugins can start, in which order, and why the others cannot. */
export function makePlan(given: PlanInput): Plan {
  const bindings = new Map([...given.bindings].map(([claim, key]) => [normaliseClaim(claim), key]));
  const input = { ...given, bindings };
  const points = knownPoints(input);
  const enabled = input.catalogue.filter((entry) => input.enabled.has(entry.key));
  const byKey = new Map(input.catalogue.map((entry) => [entry.key, entry]));
  const problems = new Map<string, Problem>();
  for (const entry of enabled) {
    const found = entry.problem ?? input.ownProblem(entry) ?? vocabularyProblem(entry, input, points);
    if (found) problems.set(entry.key, found);
  }
  const contested = new Map<string, Contested>();
  for (const { key, found, ...claimed } of conflicts(
    enabled.filter((entry) => !entry.problem),
    points,
    bindings,
  )) {
    if (problems.has(key)) continue;
    problems.set(key, found);
    if (found.code === 'key_conflict') contested.set(key, claimed);
  }
  for (const entry of enabled) {
    const found = problems.has(entry.key) ? undefined : takenSchema(entry, input.catalogue, input.enabled);
    if (found) problems.set(entry.key, found);
  }
  const requires = new Map(enabled.map((entry) => [entry.key, entry.manifest?.requires ?? []]));
  for (const { key } of enabled) {
    const circle = problems.has(key) ? undefined : circleOf(key, requires);
    if (circle) problems.set(key, problem('dependency_cycle', circle));
  }
  spreadToDependants(enabled, byKey, input, problems);
  const tiers = new Map<string, number>();
  const plan = new Map<string, PlannedPlugin>();
  for (const entry of enabled) {
    plan.set(entry.key, {
      entry,
      tier: tierOf(entry.key, byKey, tiers, new Set()),
      problem: problems.get(entry.key) ?? null,
      contested: contested.get(entry.key) ?? null,
      inert: inertOf(entry, points),
    });
  }
  const plugins = new Map([...plan].sort(([a, one], [b, other]) => one.tier - other.tier || (a < b ? -1 : 1)));
  return { plugins, points };
}

/** Names in the manifest that the host does not know, or that are not the plugin's to use. */
function vocabularyProblem(entry: CatalogueEntry, input: PlanInput, points: KnownPoints): Problem | null {
  const manifest = entry.manifest;
  if (!manifest) return null;
  for (const [name, { factsSchema }] of Object.entries(manifest.opens ?? {})) {
    if (isReservedPoint(name, input.points)) return problem('point_reserved', name);
    const why = input.schemaProblem(factsSchema);
    if (why !== null) return problem('point_schema', name, why);
  }
  const { requires = [], optional = [] } = manifest;
  for (const { point, key } of declaredContributions(manifest)) {
    const known = points.get(point);
    // The plugin that opens the point may be the missing one, and the requirement then says what is wrong.
    if (!known && !hasAll(requires, input.catalogue)) continue;
    if (!known) return problem('point_unknown', point, [...points.keys()]);
    if (!isContributionKey(known.declaration, key.endsWith('*') ? `${key.slice(0, -1)}x` : key))
      return problem('contribution_key', point, key);
    // The same for an owner that is disabled.
    const needed = [entry.key, ...requires, ...optional];
    if (!known.open && !known.owners.some((owner) => needed.includes(owner)))
      return problem('point_unknown', point, [], known.owners);
  }
  for (const service of manifest.permissions?.services ?? []) {
    if (!input.hostServices.includes(service)) return problem('host_service_unknown', service, input.hostServices);
  }
  const reserved = manifest.permissions?.routes?.find(({ path }) => hostPaths.some((one) => one === path));
  if (reserved) return problem('route_reserved', reserved.path);
  return mountProblem(manifest, input.catalogue);
}

function hasAll(keys: readonly string[], catalogue: readonly CatalogueEntry[]): boolean {
  return keys.every((key) => catalogue.some((entry) => entry.key === key && entry.manifest !== null));
}

/**
 * A route with the mount of an optional plugin that is not installed gets the default mount. An enabled plugin that is not
 * installed has an entry without a manifest.
 */
function mountProblem(manifest: PluginManifest, catalogue: readonly CatalogueEntry[]): Problem | null {
  const named = (manifest.permissions?.routes ?? []).flatMap(({ mount }) => mount ?? []);
  if (named.length === 0) return null;
  const owners = [manifest.key, ...(manifest.requires ?? []), ...(manifest.optional ?? [])];
  const installed = catalogue.filter(({ key, manifest }) => owners.includes(key) && manifest !== null);
  if (installed.length < owners.length) return null;
  const known = installed.flatMap((entry) => entry.manifest?.mounts ?? []).map(({ name }) => name);
  const unknown = named.find((mount) => !known.includes(mount));
  return unknown === undefined ? null : problem('mount_unknown', unknown, known);
}

function inertOf({ key, manifest }: CatalogueEntry, points: KnownPoints): readonly InertContribution[] {
  return Object.keys(manifest?.contributes ?? {}).flatMap((point) => {
    const { open = true, owners = [] } = points.get(point) ?? {};
    const owner = owners.find((one) => manifest?.optional?.includes(one));
    return open || owner === undefined ? [] : [{ key, point, owner }];
  });
}

/**
 * A schema of another plugin in the manifest. Shipped plugins may share one, since each of their tables has one owner;
 * they are never kept out by a plugin that was dropped in.
 */
function takenSchema(
  { key, source, manifest }: CatalogueEntry,
  catalogue: readonly CatalogueEntry[],
  enabled: ReadonlySet<string>,
): Problem | undefined {
  if (source === 'first-party') return undefined;
  for (const schema of manifest?.permissions?.schemas ?? []) {
    const owner = catalogue.find(
      (other) =>
        other.key !== key &&
        (other.source === 'first-party' || enabled.has(other.key)) &&
        other.manifest?.permissions?.schemas?.includes(schema),
    );
    if (owner) return problem('schema_taken', schema, owner.key);
  }
  return undefined;
}

/** Everything one plugin claims: contributions, points, services, and each method and path of its routes. */
function claims(entry: CatalogueEntry, points: KnownPoints): readonly string[] {
  const manifest = entry.manifest;
  if (!manifest) return [];
  return [
    ...declaredContributions(manifest)
      .filter(({ point }) => !points.get(point)?.declaration.privateKeys)
      .map(({ point, key }) => contributionId(point, key)),
    ...Object.keys(manifest.opens ?? {}).map(pointClaim),
    ...(manifest.provides ?? []).map((service) => `service:${service}`),
    ...(manifest.permissions?.routes ?? []).flatMap(routeClaims),
  ];
}

function routeClaims(route: ManifestRoute): readonly string[] {
  const methods = typeof route.method === 'string' ? [route.method] : (route.method ?? ['GET']);
  const path = route.path.replace(/:[^/]+/g, ':_').replace(/\*[^/]*/g, '*');
  return methods.map((method) => `route:${route.kind === 'upgrade' ? 'UPGRADE' : method.toUpperCase()} ${path}`);
}

function* conflicts(
  entries: readonly CatalogueEntry[],
  points: KnownPoints,
  bindings: ReadonlyMap<string, string>,
): Generator<Contested & { readonly key: string; readonly found: Problem }> {
  const claimants = new Map<string, string[]>();
  for (const entry of entries) {
    for (const claim of new Set(claims(entry, points)))
      claimants.set(claim, [...(claimants.get(claim) ?? []), entry.key]);
  }
  for (const [claim, keys] of claimants) {
    if (keys.length < 2) continue;
    const owner = bindings.get(claim);
    for (const key of keys) {
      const claimed = { key, claim, claimants: keys };
      if (owner === undefined || !keys.includes(owner))
        yield { ...claimed, found: problem('key_conflict', claim, keys) };
      else if (key !== owner) yield { ...claimed, found: problem('key_bound_elsewhere', claim, owner) };
    }
  }
}

function normaliseClaim(claim: string): string {
  const colon = claim.indexOf(':');
  return claim.startsWith('route:') ? claim : contributionId(claim.slice(0, colon), claim.slice(colon + 1));
}

/** The shortest circle of `requires` that leads from a plugin back to itself, as a closed path: `a, b, a`. */
function circleOf(key: string, requires: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const next = [key];
  for (const at of next) {
    for (const wanted of requires.get(at) ?? []) {
      if (wanted === key) {
        const path = [key];
        for (let step = at; step !== key; step = cameFrom.get(step) ?? key) path.unshift(step);
        return [key, ...path];
      }
      if (cameFrom.has(wanted) || !requires.has(wanted)) continue;
      cameFrom.set(wanted, at);
      next.push(wanted);
    }
  }
  return undefined;
}

/** Blocks plugins whose requirement is missing, disabled or blocked. */
function spreadToDependants(
  entries: readonly CatalogueEntry[],
  byKey: ReadonlyMap<string, CatalogueEntry>,
  input: PlanInput,
  problems: Map<string, Problem>,
): void {
  let changed = true;
  while (changed) {
    changed = false;
    for (const entry of entries) {
      if (problems.has(entry.key)) continue;
      for (const wanted of entry.manifest?.requires ?? []) {
        const found = !byKey.has(wanted)
          ? problem('dependency_missing', wanted)
          : !input.enabled.has(wanted)
            ? problem('dependency_disabled', wanted)
            : problems.has(wanted)
              ? problem('dependency_not_active', wanted, input.stuck(wanted) ?? 'blocked')
              : null;
        if (!found) continue;
        problems.set(entry.key, found);
        changed = true;
        break;
      }
    }
  }
}

function tierOf(
  key: string,
  byKey: ReadonlyMap<string, CatalogueEntry>,
  tiers: Map<string, number>,
  path: Set<string>,
): number {
  const known = tiers.get(key);
  if (known !== undefined) return known;
  if (path.has(key)) return 0;
  path.add(key);
  const requires = byKey.get(key)?.manifest?.requires ?? [];
  const tier =
    requires.length === 0 ? 0 : 1 + Math.max(...requires.map((wanted) => tierOf(wanted, byKey, tiers, path)));
  path.delete(key);
  tiers.set(key, tier);
  return tier;
}

/** Plugins that need `key`, directly or through others, dependants first. */
export function dependantsOf(
  key: string,
  catalogue: readonly CatalogueEntry[],
  among: ReadonlySet<string>,
): readonly string[] {
  const found: string[] = [];
  const visit = (wanted: string): void => {
    for (const entry of catalogue) {
      if (!among.has(entry.key) || found.includes(entry.key) || entry.key === key) continue;
      if (!(entry.manifest?.requires ?? []).includes(wanted)) continue;
      visit(entry.key);
      if (!found.includes(entry.key)) found.push(entry.key);
    }
  };
  visit(key);
  return found;
}
