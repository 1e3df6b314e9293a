import type { ManifestContribution, ManifestPoint, PluginManifest } from '../sdk/manifest.js';
import { canonicalKey, type ExtensionPointDeclaration } from '../sdk/points/point.js';

/** What identifies a contribution: `tool:web-search` for both `web-search` and `web_search`. */
export function contributionId(point: string, key: string): string {
  return `${point}:${canonicalKey(key)}`;
}

export function contributionKey(contribution: ManifestContribution): string {
  return typeof contribution === 'string' ? contribution : contribution.key;
}

type Declared = { readonly point: string; readonly key: string };

const declaredBy = new WeakMap<PluginManifest, readonly Declared[]>();

/** All that a manifest says it adds: contributions of every point, its routes among them. */
export function declaredContributions(manifest: PluginManifest): readonly Declared[] {
  const known = declaredBy.get(manifest) ?? readDeclared(manifest);
  declaredBy.set(manifest, known);
  return known;
}

function readDeclared(manifest: PluginManifest): readonly Declared[] {
  const declared = Object.entries(manifest.contributes ?? {}).flatMap(([point, keys]) =>
    keys.map((contribution) => ({ point, key: contributionKey(contribution) })),
  );
  const routes = (manifest.permissions?.routes ?? []).map((route) => ({ point: 'route', key: route.name }));
  return [...declared, ...routes];
}

/** An extension point of the platform or of an installed plugin. */
interface KnownPoint {
  readonly declaration: ExtensionPointDeclaration;
  /** Installed plugins whose manifests open it; empty for a point of the platform. */
  readonly owners: readonly string[];
  /** False: none of its owners is enabled, or several are and none is bound. Its contributions are then not visible. */
  readonly open: boolean;
}

export type KnownPoints = ReadonlyMap<string, KnownPoint>;

/** What a catalogue entry says about the points of its plugin. */
interface InstalledPlugin {
  readonly key: string;
  readonly manifest: PluginManifest | null;
  readonly problem: object | null;
}

export interface PointSources {
  /** The platform's own points. */
  readonly points: readonly ExtensionPointDeclaration[];
  readonly catalogue: readonly InstalledPlugin[];
  readonly enabled: ReadonlySet<string>;
  /** `tool:echo` → plugin key. */
  readonly bindings: ReadonlyMap<string, string>;
  /** Why the data schema of a point cannot be used; null when it can. */
  readonly schemaProblem: (schema: Readonly<Record<string, unknown>>) => string | null;
}

/** Names that a claim or a fact of the manifest has beside those of points. */
const reservedNames = ['service', 'point', 'config'];

const defaultTimeoutMs = 30_000;

/** The claim of a plugin that opens a point. */
export function pointClaim(name: string): string {
  return contributionId('point', name);
}

export function isReservedPoint(name: string, platform: readonly ExtensionPointDeclaration[]): boolean {
  return (
    reservedNames.includes(name) ||
    platform.some((point) => contributionId('', point.name) === contributionId('', name))
  );
}

/** All extension points, from the platform's table and the manifests. A point with a broken schema is none. */
export function knownPoints({ points, catalogue, enabled, bindings, schemaProblem }: PointSources): KnownPoints {
  const known = new Map<string, KnownPoint>(
    points.map((declaration) => [declaration.name, { declaration, owners: [], open: true }]),
  );
  const offers = catalogue.flatMap((entry) =>
    Object.entries(entry.manifest?.opens ?? {})
      .filter(([, { factsSchema }]) => schemaProblem(factsSchema) === null)
      .map(([name, point]) => ({ entry, name, point })),
  );
  for (const [name, openers] of Map.groupBy(offers, (offer) => offer.name)) {
    if (isReservedPoint(name, points)) continue;
    const claim = pointClaim(name);
    const claimants = offers.filter(
      (one) => pointClaim(one.name) === claim && enabled.has(one.entry.key) && !one.entry.problem,
    );
    const bound = claimants.find(({ entry }) => entry.key === bindings.get(claim));
    const holder = bound ?? (claimants.length === 1 ? claimants[0] : undefined);
    const open = holder?.name === name;
    const shown = open ? holder : openers[0];
    if (!shown) continue;
    known.set(name, {
      declaration: declarationOf(name, shown.point),
      owners: openers.map(({ entry }) => entry.key),
      open,
    });
  }
  return known;
}

function declarationOf(name: string, point: ManifestPoint): ExtensionPointDeclaration {
  return { ...point, name, timeoutMs: point.timeoutMs ?? defaultTimeoutMs };
}
