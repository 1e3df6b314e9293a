import type { HostEvents } from './events.js';
import type { ExtensionPointDeclaration } from './points/point.js';

/** `plugin.json`: what a plugin is, requires and contributes, readable without running it. Schema: `schemas/plugin.schema.json`. */
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
  /** Plugins whose services and extension points this plugin uses when they are active. */
  readonly optional?: readonly string[];
  readonly contributes?: Readonly<Record<string, readonly ManifestContribution[]>>;
  /** Service names. */
  readonly provides?: readonly string[];
  /** Extension points of this plugin, by name. They are open while the plugin is enabled. */
  readonly opens?: Readonly<Record<string, ManifestPoint>>;
  /** How the host handles the requests of its routes, and of routes of plugins that name it in `requires` or `optional`. */
  readonly mounts?: readonly ManifestMount[];
  readonly permissions?: ManifestPermissions;
  /** File of the configuration's JSON Schema, relative to the plugin's folder. */
  readonly config?: string;
  /** How a changed configuration is applied; `restart` when absent. */
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

/** An extension point in a manifest; its name is the key in `opens`. */
export interface ManifestPoint extends Omit<ExtensionPointDeclaration, 'name' | 'timeoutMs'> {
  /** Default time limit of one call, milliseconds, 30,000 when absent; 0 = none. */
  readonly timeoutMs?: number;
}

interface ManifestPermissions {
  /** Host events that must reach the plugin even when no server runs: commands start it to deliver them. */
  readonly events?: readonly (keyof HostEvents & string)[];
  /** Host services. */
  readonly services?: readonly string[];
  /** Routes of the plugin. Each also declares the `route` contribution of the same name. */
  readonly routes?: readonly ManifestRoute[];
  /** Logical database schemas whose tables the plugin owns. */
  readonly schemas?: readonly string[];
  /** Host patterns that the guarded fetch may reach: `api.example.com`, `*.example.com`, `*`. */
  readonly network?: readonly string[];
  /** Names of secrets and environment variables that the plugin may read. */
  readonly secrets?: readonly string[];
  /** Folders below the data directory, or `workspace`. */
  readonly files?: readonly string[];
  /** Programs the plugin may run. */
  readonly exec?: readonly string[];
}

export interface ManifestRoute {
  readonly name: string;
  readonly kind: 'http' | 'upgrade' | 'static';
  /** Absent for `upgrade` and `static` (GET). A list declares several methods for one handler. */
  readonly method?: string | readonly string[];
  /**
   * `/chats/:chat_id`; the last segment may be `*rest`. Fixed segments take precedence over parameters, and parameters
   * over a rest. A path that ends in a rest, or begins with a parameter, does not match paths below a prefix of the same
   * or greater depth that another plugin has a route on, whether enabled or not: unknown paths below `/admin` remain the
   * platform's 404 even with a route `/*rest`. Use a unique first segment.
   */
  readonly path: string;
  /** `public`: no authentication; `key`: a key when one is configured; `admin`: the admin right. */
  readonly auth: 'public' | 'key' | 'admin';
  /** A mount of this plugin, or of one in `requires` or `optional`; the platform's default mount when absent. */
  readonly mount?: string;
}

/**
 * Error envelope, body rules and CORS of a group of routes. The host applies them before a plugin runs, also while the
 * plugin is disabled. Every absent member has the value of the default mount, given below.
 */
export interface ManifestMount {
  /** Unique within the plugin. */
  readonly name: string;
  /** Unknown paths at and below one get this mount's 404, and a root catch-all of another mount does not match them. */
  readonly prefix?: string | readonly string[];
  /** Body of an error; `{error: {code, message, details?, hint?}}` when absent. */
  readonly envelope?: EnvelopeTemplate;
  /** Body of an error when the request body is not valid text or JSON; `envelope` when absent. */
  readonly parseEnvelope?: EnvelopeTemplate;
  /** Body of a 503: the server is shutting down, or the plugin is not running; `envelope` when absent. */
  readonly unavailableEnvelope?: EnvelopeTemplate;
  /** Largest request body, bytes; 4 MiB when absent. Larger ones are refused with this number. */
  readonly maxBytes?: number | SettingLimit;
  /** Bytes accepted beyond `maxBytes` for framing that is not content; 0 when absent. */
  readonly framingBytes?: number;
  /** Deepest nesting of a JSON body; 64 when absent. */
  readonly maxDepth?: number;
  /**
   * `json` (default): `application/json` for each body that is not empty. `strict-json`: JSON or `*+json`, required by
   * POST, PUT and PATCH even without a body. `lenient-json`: JSON, `*+json` or no type; other types only without an
   * `Origin`. `multipart`: `multipart/form-data`.
   */
  readonly contentTypes?: 'json' | 'strict-json' | 'lenient-json' | 'multipart';
  /** `none`: no CORS headers; the platform's headers for listed origins when absent. */
  readonly cors?: 'none' | CorsRule;
  /** Body of the 200 response to an `OPTIONS` request that is not a preflight; 204 without a body when absent. */
  readonly optionsBody?: EnvelopeTemplate;
  /** The handler's `body`. `parsed` (default): the JSON value; `text`: the decoded text; `bytes`: only `rawBody`. */
  readonly body?: 'parsed' | 'text' | 'bytes';
  /** POST, PUT and PATCH must carry a JSON value; false when absent. */
  readonly needsBody?: boolean;
  /** Error for a malformed percent-escape in a path, status 400; `invalid_request` when absent. */
  readonly badEscape?: { readonly code: string; readonly message: string };
}

/**
 * A JSON value in which a string `{name}` is replaced by that field of the error: `code`, `message`, `reason` (the code
 * in upper case), `details`, `hint`, `status`, `retryable`, `correlation_id`, `request_id`. Members whose field is absent
 * are omitted. `{"$from": name, "map": {…}, "default": …}` maps the field through a table (such as status to error type)
 * or, without `map`, sets a default for an absent field; there, the name may also be a member of the details (`details.x`).
 */
export type EnvelopeTemplate = string | number | boolean | null | readonly EnvelopeTemplate[] | EnvelopeObject;

interface EnvelopeObject {
  readonly [name: string]: EnvelopeTemplate;
}

/** A limit derived from a numeric setting: `factor` × setting + `add`, rounded up, clamped to `minimum` and `maximum`. */
export interface SettingLimit {
  readonly setting: string;
  /** Owner of the setting. While it is disabled or not installed, the limit is `minimum`. */
  readonly plugin: string;
  /** 1 when absent. */
  readonly factor?: number;
  /** 0 when absent. */
  readonly add?: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** The CORS headers of a mount, sent with every response including refusals. */
export interface CorsRule {
  /** `listed`: only for the origins in the settings; `any`: `*` for every origin. */
  readonly origins: 'listed' | 'any';
  /** Header values, as they are sent. */
  readonly methods: string;
  /** Methods appended to `methods` in the response to a preflight request for them. */
  readonly requestableMethods?: readonly string[];
  /** Request headers that a page may send. */
  readonly headers: string;
  /** Appends up to 32 request headers from a preflight request to `headers`; false when absent. */
  readonly anyHeader?: boolean;
  /** Response headers that a page may read. */
  readonly exposed: string;
  /** How long a browser may cache a preflight response; no header when absent. */
  readonly maxAgeSeconds?: number;
}
