import type { ExtensionPointDeclaration } from './points/point.js';

/** `plugin.json`: what a plugin is, needs and adds, readable without running it. Schema: `schemas/plugin.schema.json`. */
export interface PluginManifest {
  readonly manifestVersion: 1;
  readonly key: string;
  readonly version: string;
  readonly title: string;
  readonly summary: string;
  /** Relative to the plugin's folder; `index.js` when absent (`.ts` with erasable types for dropped-in plugins). */
  readonly entry?: string;
  readonly engines?: { readonly mortise?: string; readonly node?: string };
  /** Plugins that must be active first. */
  readonly requires?: readonly string[];
  /** Plugins whose services and extension points this one can do without. */
  readonly optional?: readonly string[];
  readonly contributes?: Readonly<Record<string, readonly ManifestContribution[]>>;
  /** Service names. */
  readonly provides?: readonly string[];
  /** Extension points of this plugin, by name. They are open while the plugin is enabled. */
  readonly opens?: Readonly<Record<string, ManifestPoint>>;
  readonly permissions?: ManifestPermissions;
  /** File of the configuration's JSON Schema, relative to the plugin's folder. */
  readonly config?: string;
  /** How a changed configuration is taken over; `restart` when absent. */
  readonly reload?: 'live' | 'restart';
  readonly timeouts?: {
    /** Milliseconds: start 10,000, at most 120,000; stop 5,000; drain 30,000; one call 30,000 unless its point says otherwise. */
    readonly start?: number;
    readonly stop?: number;
    readonly drain?: number;
    readonly call?: number;
  };
  readonly isolation?: 'in-process';
  readonly docs?: string;
}

/** A key (or a pattern ending in `*`), or a key with facts: inline, or a JSON file relative to the plugin's folder. */
export type ManifestContribution =
  | string
  | { readonly key: string; readonly facts: string | Readonly<Record<string, unknown>> };

/** An extension point as its manifest declares it: the name is its key in `opens`. */
export interface ManifestPoint extends Omit<ExtensionPointDeclaration, 'name' | 'timeoutMs'> {
  /** Default time limit of one call, milliseconds, 30,000 when absent; 0 = none. */
  readonly timeoutMs?: number;
}

export interface ManifestPermissions {
  /** Host services. */
  readonly services?: readonly string[];
  /** The routes the plugin opens. Each is its `route` contribution's declaration as well. */
  readonly routes?: readonly ManifestRoute[];
  /** Logical database schemas whose tables it owns. */
  readonly schemas?: readonly string[];
  /** Host patterns the guarded fetch may reach: `api.example.com`, `*.example.com`, `*`. */
  readonly network?: readonly string[];
  /** Names of secrets and environment variables it may read. */
  readonly secrets?: readonly string[];
  /** Folders below the data directory, or `workspace`. */
  readonly files?: readonly string[];
  /** Programs it may run. */
  readonly exec?: readonly string[];
}

export interface ManifestRoute {
  readonly name: string;
  readonly kind: 'http' | 'upgrade' | 'static';
  /** Absent for `upgrade` and `static` (GET). A list declares several methods for one handler. */
  readonly method?: string | readonly string[];
  /**
   * `/chats/:chat_id`; the last segment may be `*rest`. A fixed path goes before a parameter, a parameter before a rest.
   * A path that ends in a rest, or begins with a parameter, catches no path below one that another plugin has a route on
   * as far in or further, on or off: unknown paths below `/admin` stay the platform's 404 whoever declares `/*rest`. Give it a
   * first segment of its own.
   */
  readonly path: string;
  /** `public`: no authentication; `key`: a key when one is configured; `admin`: the admin right. */
  readonly auth: 'public' | 'key' | 'admin';
  /** Name of the mount (error envelope and limits); `agent` when absent. */
  readonly mount?: string;
}
