import { describeError } from '../messages/plugin-problem.js';
import { type Problem, problem } from '../messages/plugin-problems.js';
import type { PluginManifest } from '../sdk/manifest.js';
import { canonicalKey } from '../sdk/points/point.js';
import type { Desired } from '../settings/types.js';
import { type CatalogueEntry, configSchemaId, readCatalogue } from './catalogue.js';
import type { KernelDeps } from './deps.js';
import { dependantsOf } from './plan.js';
import { PluginRecord } from './plugin-record.js';

type InventoryDeps = Pick<
  KernelDeps,
  'compile' | 'manifestSchema' | 'folders' | 'extraEntries' | 'desired' | 'config' | 'clock'
>;

/** The installed plugins: which of them should run, and the record of each. */
export class Inventory {
  readonly #deps: InventoryDeps;
  readonly #onConfig: (record: PluginRecord) => void;
  readonly #records = new Map<string, PluginRecord>();
  #catalogue: readonly CatalogueEntry[] = [];
  /** Canonical key → key as the plugin writes it. */
  #keys: ReadonlyMap<string, string> = new Map();
  #enabled: { readonly desired: Desired; readonly keys: ReadonlySet<string> } | undefined;

  /** `onConfig` is called when the configuration of a plugin has changed. */
  constructor(deps: InventoryDeps, onConfig: (record: PluginRecord) => void) {
    this.#deps = deps;
    this.#onConfig = onConfig;
  }

  get desired(): Desired {
    return this.#deps.desired.current;
  }

  /** Every plugin, those that require nothing first. */
  records(): readonly PluginRecord[] {
    return [...this.#records.values()].sort((a, b) => a.tier - b.tier || (a.key < b.key ? -1 : 1));
  }

  /** By its key, in any spelling, or by a former key. */
  record(key: string): PluginRecord | undefined {
    return this.#records.get(this.resolve(key));
  }

  /** The present key of a plugin, from a former key or another spelling. */
  resolve(key: string, desired: Desired = this.desired): string {
    const renamed = Object.hasOwn(desired.renamed, key) ? (desired.renamed[key] ?? key) : key;
    return this.#keys.get(canonicalKey(renamed)) ?? renamed;
  }

  /** Keys of the plugins that should run. */
  enabled(desired: Desired = this.desired): ReadonlySet<string> {
    if (this.#enabled?.desired === desired) return this.#enabled.keys;
    const keys = new Set(
      Object.entries(desired.plugins)
        .filter(([, wanted]) => wanted.enabled)
        .map(([key]) => this.resolve(key, desired)),
    );
    this.#enabled = { desired, keys };
    return keys;
  }

  isEnabled(key: string): boolean {
    return this.enabled().has(key);
  }

  /** Enabled plugins whose manifests require `key`, directly or through others, dependants first. */
  dependants(key: string): readonly string[] {
    return dependantsOf(key, this.entries(), this.enabled());
  }

  isRequired(key: string): boolean {
    return Object.entries(this.desired.plugins).some(
      ([name, wanted]) => wanted.required === true && this.resolve(name) === key,
    );
  }

  /** Plugins as they are planned: a running one with the facts it was started with, a missing one with its problem. */
  entries(desired: Desired = this.desired): readonly CatalogueEntry[] {
    const running = new Map(
      [...this.#records.values()].flatMap((record) => (record.run ? [[record.key, record.run.entry] as const] : [])),
    );
    const present = new Map(this.#catalogue.map((entry) => [entry.key, running.get(entry.key) ?? entry]));
    for (const [key, entry] of running) present.set(key, entry);
    const missing = [...this.enabled(desired)].filter((key) => !present.has(key));
    return [...present.values(), ...missing.map(missingEntry)];
  }

  /** Reads the folders again and takes over what was added, changed and removed. Running plugins are not touched. */
  async rescan(): Promise<void> {
    const check = this.#deps.compile(this.#deps.manifestSchema, 'plugin.json');
    const read = await readCatalogue(this.#deps.folders, (value) => check.check(value));
    const extra = this.#deps.extraEntries ?? [];
    const entries = [...read.filter((entry) => !extra.some((other) => other.key === entry.key)), ...extra];
    this.#keys = new Map(entries.map((entry) => [canonicalKey(entry.key), entry.key]));
    this.#enabled = undefined;
    this.#catalogue = entries.map((entry) => this.#withPresentKeys(entry));
    await this.#updateRecords();
    this.#catalogue = await Promise.all(this.#catalogue.map((entry) => this.#withConfig(entry)));
  }

  async dispose(): Promise<void> {
    for (const record of this.#records.values()) await record.config?.dispose();
  }

  async #updateRecords(): Promise<void> {
    const present = this.entries();
    for (const entry of present) {
      const record = this.#records.get(entry.key);
      if (!record) this.#records.set(entry.key, new PluginRecord(entry, this.#deps.clock.now()));
      else if (!record.run) record.entry = entry;
    }
    const keys = new Set(present.map((entry) => entry.key));
    for (const record of [...this.#records.values()]) {
      if (record.run || keys.has(record.key)) continue;
      await record.config?.dispose();
      this.#records.delete(record.key);
    }
  }

  /** A manifest may name plugins by former keys or in another spelling. */
  #withPresentKeys(entry: CatalogueEntry): CatalogueEntry {
    const { manifest } = entry;
    if (!manifest) return entry;
    const present = (keys: readonly string[] | undefined): readonly string[] =>
      (keys ?? []).map((key) => this.resolve(key));
    const named: PluginManifest = {
      ...manifest,
      requires: present(manifest.requires),
      optional: present(manifest.optional),
    };
    return { ...entry, manifest: named };
  }

  /** Opens the configuration of a plugin that does not run, again when its schema has changed. */
  async #withConfig(entry: CatalogueEntry): Promise<CatalogueEntry> {
    const record = this.#records.get(entry.key);
    if (!record || record.run || entry.problem) return entry;
    const schema = entry.facts.get(configSchemaId);
    const text = schema && JSON.stringify(schema);
    if (record.config && text === record.configSchema) return entry;
    await record.config?.dispose();
    record.config = undefined;
    record.configSchema = text;
    if (!schema) return entry;
    try {
      const config = await this.#deps.config(entry.key, schema);
      config.subscribe(() => this.#onConfig(record));
      record.config = config;
      return entry;
    } catch (error) {
      record.configSchema = undefined;
      const shown = problem('config_schema', entry.manifest?.config ?? 'config.schema.json', describeError(error));
      const broken = { ...entry, problem: shown };
      record.entry = broken;
      return broken;
    }
  }
}

function missingEntry(key: string): CatalogueEntry {
  const shown: Problem = problem('plugin_missing', key);
  return { key, source: 'local', folder: '', entry: null, manifest: null, facts: new Map(), problem: shown };
}
