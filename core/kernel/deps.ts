import type { CompiledSchema, JsonSchema } from '../schema/types.js';
import type { Disposable, Logger } from '../sdk/context.js';
import type { HostServices } from '../sdk/host/index.js';
import type { Finding } from '../sdk/host/plugin-control.js';
import type { ExtensionPointDeclaration } from '../sdk/points/point.js';
import type { Desired } from '../settings/types.js';
import type { Tracing } from '../telemetry/types.js';
import type { CatalogueEntry, PluginFolder } from './catalogue.js';

/** What the kernel needs of the other rooms. */
export interface KernelDeps {
  readonly log: KernelLogger;
  /** Removes the secrets that the host knows from a text for people. */
  clean(text: string): string;
  readonly clock: { now(): number; monotonic(): number };
  readonly scheduler: {
    every(ms: number, run: () => unknown): Disposable;
    cron(expression: string, zone: string, run: () => unknown): Disposable;
  };
  /** Compiles a schema that the host ships or a plugin brings; the same object is compiled once. */
  compile<T>(schema: JsonSchema, name: string): CompiledSchema<T>;
  /** `schemas/plugin.schema.json`. */
  readonly manifestSchema: JsonSchema;
  /** The platform's own extension points; plugins open others in their manifests. */
  readonly points: readonly ExtensionPointDeclaration[];
  readonly folders: readonly PluginFolder[];
  /** Entries that do not come from folders: plugins that a test makes in memory. */
  readonly extraEntries?: readonly CatalogueEntry[];
  readonly desired: DesiredStore;
  config(key: string, schema: JsonSchema): Promise<PluginConfigSource>;
  /** Host services of one plugin start, in a scope of its own. */
  openScope(entry: CatalogueEntry): PluginScope;
  readonly hostServices: readonly string[];
  readonly metrics: KernelMetrics;
  readonly tracing: Pick<Tracing, 'start'>;
  readonly versions: { readonly mortise: string; readonly node: string };
  /** Start required plugins only. */
  readonly safeMode: boolean;
  /** What the boot journal says about a plugin. */
  suspect(key: string): Suspect | undefined;
  /** An admin released the plugin: removes it from the boot journal. */
  clearSuspect(key: string): void;
  /**
   * Notes in the boot journal that the plugin is in a step (`import`, `register`, `start`; `waiting` for what it started)
   * until the returned function is called.
   */
  note(key: string, step: string): () => void;
  /** The plugin that keeps all others from the database; undefined when no one waits for it. */
  blocker?(): string | undefined;
  /** Findings of the other rooms. */
  findings(): Promise<readonly Finding[]>;
}

/** A plugin that was in the middle of something when the process crashed. */
export interface Suspect {
  readonly code: 'boot_crash' | 'blocked_event_loop';
  /** The step it was in, or the seconds it blocked. */
  readonly detail: string;
  /** False: several plugins were starting at that moment, and this is one of them. */
  readonly sure: boolean;
}

export interface KernelLogger extends Logger {
  child(fields: Readonly<Record<string, unknown>>): KernelLogger;
}

export interface PluginScope {
  use<S extends keyof HostServices>(service: S): HostServices[S];
  /** Ends transactions that the plugin has left open, which others wait for. */
  endTransactions(): void;
  dispose(): Promise<void>;
}

export interface KernelMetrics {
  /** Bound once per contribution; called once per call. */
  call(point: string, key: string, plugin: string): (milliseconds: number, failed: boolean) => void;
}

export interface DesiredStore {
  readonly current: Desired;
  subscribe(run: () => void): Disposable;
  /** @throws MortiseError `revision_conflict` (409). */
  write(change: (current: Desired) => Desired, options?: { readonly revision?: number }): Promise<Desired>;
}

interface ConfigSnapshot {
  readonly config: Readonly<Record<string, unknown>>;
  readonly revision: number;
}

export interface PluginConfigSource extends Disposable {
  readonly snapshot: ConfigSnapshot | undefined;
  readonly problem: {
    readonly message: string;
    readonly issues: readonly { readonly path: string; readonly message: string }[];
  } | null;
  subscribe(run: () => void): Disposable;
  check(config: Readonly<Record<string, unknown>>): readonly { readonly path: string; readonly message: string }[];
  /** @throws MortiseError `invalid_config` (422). */
  write(config: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Applies a merge patch. @throws MortiseError `invalid_config` (422). */
  patch(patch: Readonly<Record<string, unknown>>): Promise<unknown>;
}
