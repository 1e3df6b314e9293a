import { describeError, PluginProblem } from '../messages/plugin-problem.js';
import { problem } from '../messages/plugin-problems.js';
import { deepFreeze } from '../schema/index.js';
import { canonicalKey, isContributionKey } from '../sdk/points/point.js';
import type { CatalogueEntry } from './catalogue.js';
import type { KernelDeps } from './deps.js';
import { contributionId, declaredContributions } from './extension-points.js';
import { CallStats } from './lease.js';
import type { LeaseBook } from './lease-book.js';
import type { Registered, Registry } from './registry.js';
import { wrapContribution } from './wrap-members.js';

/** What one plugin run adds to the extension points: staged until it has started, then published in one step. */
export class Staging {
  readonly #entry: CatalogueEntry;
  readonly #registry: Registry;
  readonly #leases: LeaseBook;
  readonly #deps: Pick<KernelDeps, 'metrics' | 'compile'>;
  readonly #declared: ReadonlySet<string>;
  readonly #patterns: readonly string[];
  readonly #held = new Set<Registered>();
  #published = false;

  constructor(
    entry: CatalogueEntry,
    registry: Registry,
    leases: LeaseBook,
    deps: Pick<KernelDeps, 'metrics' | 'compile'>,
  ) {
    this.#entry = entry;
    this.#registry = registry;
    this.#leases = leases;
    this.#deps = deps;
    const ids = entry.manifest
      ? declaredContributions(entry.manifest).map(({ point, key }) => contributionId(point, key))
      : [];
    this.#declared = new Set(ids.filter((id) => !id.endsWith('*')));
    this.#patterns = ids.filter((id) => id.endsWith('*')).map((id) => id.slice(0, -1));
  }

  /** @returns the undo step. @throws PluginProblem */
  add(point: string, key: string, value: unknown): () => void {
    const what = `${point} "${key}"`;
    const id = contributionId(point, key);
    const byPattern = this.#patterns.some((start) => id.startsWith(start));
    if (!this.#declared.has(id) && !byPattern) throw new PluginProblem(problem('contribution_undeclared', what));
    if (this.#published && !byPattern)
      throw new PluginProblem(
        problem('contribution_invalid', what, 'while the plugin runs only keys of a pattern may be added'),
      );
    if ([...this.#held].some((held) => contributionId(held.point, held.key) === id))
      throw new PluginProblem(problem('contribution_twice', what));
    this.#refuseTaken(point, key);
    const registered = this.#check(point, key, value);
    this.#held.add(registered);
    if (this.#published) this.#registry.swap([registered], new Set());
    return () => {
      if (!this.#held.delete(registered) || !this.#published) return;
      this.#registry.swap([], new Set([registered]));
    };
  }

  /** @throws PluginProblem when another plugin took a key that its pattern covers as well. */
  publish(): void {
    for (const { point, key } of this.#held) this.#refuseTaken(point, key);
    this.#published = true;
    this.#registry.swap([...this.#held], new Set());
  }

  withdraw(): void {
    if (this.#published) this.#registry.swap([], this.#held);
    this.#published = false;
    this.#held.clear();
  }

  get held(): readonly Registered[] {
    return [...this.#held];
  }

  /** Declared keys that the code did not add. */
  missing(): readonly string[] {
    const present = new Set([...this.#held].map((held) => contributionId(held.point, held.key)));
    const declared = this.#entry.manifest ? declaredContributions(this.#entry.manifest) : [];
    return declared
      .filter(({ point, key }) => !key.endsWith('*') && !present.has(contributionId(point, key)))
      .map(({ point, key }) => `${point} "${key}"`);
  }

  #refuseTaken(point: string, key: string): void {
    const other = this.#registry.findPublished(point, this.#registry.address(point, this.#entry.key, key));
    if (other)
      throw new PluginProblem(problem('key_conflict', contributionId(point, key), [other.plugin, this.#entry.key]));
  }

  #check(point: string, key: string, value: unknown): Registered {
    const what = `${point} "${key}"`;
    const wrong = (why: string): PluginProblem => new PluginProblem(problem('contribution_invalid', what, why));
    const declaration = this.#registry.declaration(point);
    if (!isContributionKey(declaration, key)) throw new PluginProblem(problem('contribution_key', point, key));
    if (typeof value !== 'object' || value === null)
      throw wrong(`it must be an object, not ${value === null ? 'null' : typeof value}`);
    const members = value as Record<string, unknown>;
    for (const name of declaration.functions)
      if (typeof members[name] !== 'function') throw wrong(`${name} is not a function`);
    for (const name of declaration.optionalFunctions ?? []) {
      if (members[name] !== undefined && typeof members[name] !== 'function') throw wrong(`${name} is not a function`);
    }
    let facts: Record<string, unknown>;
    try {
      // A copy, so that it stays what was checked here.
      facts = structuredClone(this.#facts(point, key, members));
    } catch {
      throw wrong('its data part holds something that is not data');
    }
    const issues = this.#deps.compile(declaration.factsSchema, `facts of ${point}`).check(facts);
    if (issues.length > 0) throw wrong(issues.map((issue) => `${issue.path || '/'} ${issue.message}`).join('; '));
    for (const name of ['inputSchema', 'paramsSchema', 'configSchema']) {
      const schema = facts[name];
      if (typeof schema !== 'object' || schema === null) continue;
      try {
        this.#deps.compile(schema as Record<string, unknown>, `${name} of ${what}`);
      } catch (error) {
        throw wrong(`${name}: ${describeError(error)}`);
      }
    }
    return {
      point,
      key,
      plugin: this.#entry.key,
      value,
      wrap: wrapContribution(value),
      facts: deepFreeze(facts),
      offers: (declaration.optionalFunctions ?? []).filter((name) => members[name] !== undefined),
      leases: this.#leases,
      stats: new CallStats(this.#deps.metrics.call(point, key, this.#entry.key)),
      timeoutMs: this.#entry.manifest?.timeouts?.call ?? declaration.timeoutMs,
    };
  }

  /** The data members that the point's schema names; a route's are in the manifest. */
  #facts(point: string, key: string, members: Record<string, unknown>): Record<string, unknown> {
    const given = this.#entry.facts.get(contributionId(point, canonicalKey(key)));
    if (point === 'route') return { ...given };
    const properties = this.#registry.declaration(point).factsSchema.properties ?? {};
    const facts: Record<string, unknown> = { ...given };
    for (const name of Object.keys(properties)) if (members[name] !== undefined) facts[name] = members[name];
    return facts;
  }
}
