import type { PluginManifest } from '../manifest.js';
import type { PluginHealth } from '../plugin-health.js';
import type { PluginStateName } from '../plugin-state.js';

export interface PluginRow {
  readonly key: string;
  readonly title: string;
  readonly version: string;
  readonly source: 'first-party' | 'local' | 'npm';
  readonly tier: number;
  readonly desired: 'enabled' | 'disabled';
  readonly state: PluginStateName;
  /** ISO 8601. */
  readonly since: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly hint: string | null;
  readonly required: boolean;
  readonly contributes: Readonly<Record<string, readonly string[]>>;
  readonly requires: readonly string[];
  readonly config_valid: boolean;
  readonly replicas?: readonly { readonly node: string; readonly state: PluginStateName; readonly at: string }[];
}

export interface ContributionStats {
  readonly point: string;
  readonly key: string;
  readonly calls: number;
  readonly errors: number;
  readonly in_flight: number;
  /** Milliseconds; null before the first call. */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

export interface PluginDetail extends PluginRow {
  readonly manifest: PluginManifest | null;
  readonly config: readonly {
    readonly name: string;
    readonly value: unknown;
    readonly source: string;
    readonly origin: string | null;
  }[];
  /** JSON Schema of the configuration; null for a plugin that has none. */
  readonly config_schema: Readonly<Record<string, unknown>> | null;
  readonly contributions: readonly ContributionStats[];
  readonly dependants: readonly string[];
  readonly health: PluginHealth | null;
  readonly last_fault: { readonly at: string; readonly code: string; readonly message: string } | null;
  readonly load_times_ms: {
    readonly import: number | null;
    readonly register: number | null;
    readonly start: number | null;
  };
  readonly history: readonly { readonly state: PluginStateName; readonly at: string; readonly code: string | null }[];
}

export interface PluginChange {
  readonly key: string;
  readonly enabled?: boolean;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Contested contribution to bind to this plugin: `tool:echo`. */
  readonly bind?: string;
}

/** A contribution of an enabled plugin to a point that no enabled plugin opens. */
export interface InertContribution {
  readonly key: string;
  readonly point: string;
  /** The plugin that opens the point when it is enabled. */
  readonly owner: string;
}

export interface PluginPlan {
  readonly starts: readonly string[];
  readonly stops: readonly string[];
  readonly drains: readonly { readonly key: string; readonly inFlight: number }[];
  readonly blocked: readonly { readonly key: string; readonly code: string; readonly message: string }[];
  /** Contributions without effect: the plugin that opens their extension point is optional and disabled. */
  readonly inert: readonly InertContribution[];
  /** Permissions that the change adds to those of the running plugins, as `<plugin>: <permission>`. */
  readonly wider: readonly string[];
}

export interface Finding {
  readonly severity: 'error' | 'warning' | 'info';
  readonly key?: string;
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
}

export interface LoadTreeNode {
  readonly key: string;
  readonly state: PluginStateName;
  readonly ms: { readonly import: number | null; readonly register: number | null; readonly start: number | null };
  readonly requires: readonly LoadTreeNode[];
}

export interface ToggleOptions {
  readonly cascade?: boolean;
  /** Refused with `revision_conflict` (409) when the desired state has changed since. */
  readonly revision?: number;
  readonly by?: string;
}

/** The desired state as it was written to `plugins.json`. */
export interface DesiredExport {
  /** Path relative to the project, or the bare file name. */
  readonly file: string;
  readonly revision: number;
  /** False: the file was already equal. */
  readonly changed: boolean;
}

/** What a written configuration has changed in the running process. */
export interface ConfigChange {
  /** `unchanged`: the plugin runs with the same values as before; `next start`: it does not run. */
  readonly applied: 'live' | 'restarted' | 'unchanged' | 'next start';
  /** Given values that have no effect because a variable overrides them: the variable's name by the value's name. */
  readonly overridden?: Readonly<Record<string, string>>;
}

/** Serial, idempotent operations on plugins; each resolves when the observed state is final. */
export interface PluginControl {
  revision(): number;
  list(): readonly PluginRow[];
  /** @throws MortiseError `plugin_not_found` (404). */
  inspect(key: string): Promise<PluginDetail>;
  /**
   * Text of a file that a plugin ships beside its `plugin.json`, at most 1 MiB; null when it ships none of that name.
   * @throws MortiseError `plugin_not_found` (404).
   */
  shippedText(key: string, file: string): Promise<string | null>;
  plan(changes: readonly PluginChange[]): Promise<PluginPlan>;
  /** @throws MortiseError `plugin_not_found` (404), `revision_conflict` (409), `plugin_blocked` (422). */
  enable(key: string, options?: ToggleOptions): Promise<PluginRow>;
  /** @throws MortiseError `plugin_has_dependants` (409) with their keys unless `cascade`, `plugin_required` (409). */
  disable(key: string, options?: ToggleOptions): Promise<PluginRow>;
  restart(key: string, options?: ToggleOptions): Promise<PluginRow>;
  /** Ends a quarantine and starts the plugin again. */
  release(key: string, options?: ToggleOptions): Promise<PluginRow>;
  /** @throws MortiseError `invalid_config` (422) with `details: [{path, message}]`; the old configuration remains in force. */
  configure(key: string, config: Readonly<Record<string, unknown>>, options?: ToggleOptions): Promise<ConfigChange>;
  /** Applies a merge patch (RFC 7396) to the file; null removes a member, so that its default applies. As `configure`. */
  patchConfig(key: string, patch: Readonly<Record<string, unknown>>, options?: ToggleOptions): Promise<ConfigChange>;
  /** Writes the desired state that replicas share to `plugins.json`. */
  export(options?: ToggleOptions): Promise<DesiredExport>;
  doctor(key?: string): Promise<readonly Finding[]>;
  tree(): readonly LoadTreeNode[];
  /** The plugin with an open transaction that has been idle for a second or more: other calls may wait for it. */
  databaseHolder(): string | null;
  /** Rolls back the plugin's open transaction as soon as it is idle for a second. */
  hurry(key: string): void;
  /** Required plugins that are not active, and `database` while its disk is full; empty when ready. */
  waiting(): readonly { readonly key: string; readonly state: PluginStateName; readonly code: string | null }[];
}
