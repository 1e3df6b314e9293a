import type { JsonSchema, SchemaIssue } from '../schema/types.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import type { Alert, Disposable, Finding, MortiseError, SecretsService, SettingsService } from '../sdk/index.js';
import type { LogLevel } from '../telemetry/types.js';

/** A file that the process itself has replaced. */
export interface FileWrite {
  readonly path: string;
  /** Its text before; undefined when it did not exist. */
  readonly before: string | undefined;
}

/** Where the settings are read from. */
export interface SettingsSource {
  /** The project's folder: holds `config/`, `plugins.json`, `plugins/`, `schemas/`. Absolute. */
  readonly projectDir: string;
  /** `process.env` when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths in variables, and the folder of `.env`; `process.cwd()` when absent. */
  readonly cwd?: string;
  /** Wall clock, epoch milliseconds. */
  readonly now?: () => number;
}

/** Values of `config/mortise.json` and the host's variables, checked and frozen. They hold until the process ends. */
export interface HostSettings {
  readonly projectDir: string;
  readonly configDir: string;
  /** Absolute; not created here. */
  readonly dataDir: string;
  readonly workspaceDir: string;
  /** Shipped plugins: `<project>/plugins`. */
  readonly shippedPluginsDir: string;
  /** Dropped-in plugins. */
  readonly pluginsDir: string;
  readonly pluginsFile: string;
  readonly projectKey: string;
  readonly version: string;
  readonly locale: 'en-US' | 'zh-CN';
  readonly http: HttpSettings;
  readonly database: DatabaseSettings;
  readonly log: {
    readonly level: LogLevel;
    readonly destination: 'stdout' | 'stderr';
    /** `auto`: for people on a terminal, JSON everywhere else. */
    readonly format: 'auto' | 'json' | 'text';
  };
  /** Seconds between two keep-alive comments of an event stream; 0 = none. */
  readonly sseKeepAliveSeconds: number;
  /** Duration of the whole shutdown, seconds. */
  readonly shutdownSeconds: number;
  /** 32 bytes; undefined when none is set. */
  readonly secretKey: Uint8Array | undefined;
  /** Addresses named by a user or a model may be private ones. */
  readonly allowPrivateUrls: boolean;
  /** Polling interval of the configuration files in milliseconds; 0 = never. */
  readonly pollMs: number;
}

export interface HttpSettings {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly apiKey: string | undefined;
  readonly principals: readonly ConfiguredPrincipal[];
  readonly adminKey: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly rateLimit: RateLimit | undefined;
  /** By tool name. */
  readonly toolRateLimits: Readonly<Record<string, RateLimit>>;
  /** The client's address is the last one of `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** Seconds; `write` 0 = no limit. */
  readonly timeouts: {
    /** Receiving the headers. */
    readonly readHeader: number;
    /** Receiving the whole request. */
    readonly read: number;
    /** Sending a response other than an event stream. */
    readonly write: number;
    /** Waiting for the next request on a connection. */
    readonly idle: number;
  };
}

/** Requests per caller: a bucket of `requests` that fills up in `seconds`. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** One entry of `MORTISE_API_KEYS`. Members that the host does not know stay in `claims`. */
export interface ConfiguredPrincipal {
  readonly key: string;
  readonly id: string;
  readonly actor?: string;
  readonly admin?: boolean;
  readonly spaces?: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}

export type DatabaseSettings =
  | { readonly dialect: 'sqlite'; readonly file: string; readonly schema: string; readonly poolMax: number }
  | {
      readonly dialect: 'postgres';
      /** A DSN, or the parts. */
      readonly connection:
        | string
        | {
            readonly host: string;
            readonly port: number;
            readonly user: string;
            readonly password: string;
            readonly database: string;
          };
      readonly schema: string;
      readonly poolMax: number;
      /** How long the server may leave a query unanswered before it is probed. */
      readonly answerTimeoutMs: number;
    };

/** One state of an owner's configuration: frozen, swapped as a whole. */
export interface Snapshot<C extends object = Readonly<Record<string, unknown>>> {
  readonly config: Readonly<C>;
  /** 1 for the first; increases with every new one. */
  readonly revision: number;
  readonly source: 'file' | 'defaults';
  /** Hex SHA-256 of the file's bytes; null without a file. */
  readonly sha256: string | null;
  /** Epoch milliseconds. */
  readonly loadedAt: number;
}

/** Why an owner has no valid configuration, or why a changed file was rejected. */
export interface ConfigProblem {
  readonly code: 'invalid_config';
  /** One sentence that names the file or the variable, the place and what is allowed. */
  readonly message: string;
  readonly issues: readonly ConfigIssue[];
  /** Hex SHA-256 of the refused bytes; null when it was not the file. */
  readonly sha256: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface ConfigIssue extends SchemaIssue {
  /** The file (relative to the project where it can be) or the variable that holds the value. */
  readonly origin: string;
  /** JSON Pointer of the place inside the variable or the file; `''` is the whole. */
  readonly place: string;
  /** The refused value as text, shortened, and masked when it is a secret; undefined when there is none. */
  readonly shown: string | undefined;
}

export interface ReloadResult {
  /** A new snapshot is in force. */
  readonly changed: boolean;
  readonly revision: number;
  readonly problem: ConfigProblem | null;
}

/** The configuration of one plugin, watched until disposed. */
export interface OwnedConfig<C extends object = Readonly<Record<string, unknown>>> extends Disposable {
  readonly owner: string;
  /** Absolute path; the file need not exist. */
  readonly file: string;
  /** The last good one; undefined only when there has been none since the start: the plugin is blocked. */
  readonly snapshot: Snapshot<C> | undefined;
  /** The current problem; null when the file and the environment are valid. */
  readonly problem: ConfigProblem | null;
  /** Runs after each swap; `previous` is undefined for the first good configuration after a bad start. */
  subscribe(run: (next: Snapshot<C>, previous: Snapshot<C> | undefined) => void): Disposable;
  /** Checks the file immediately, by its content. */
  reload(): Promise<ReloadResult>;
  /** Checks a whole configuration as `write` would, without changing anything. */
  check(config: Readonly<Record<string, unknown>>): readonly ConfigIssue[];
  /**
   * Checks and then replaces the file. A secret given as its mask keeps what is stored.
   * @throws MortiseError `invalid_config` (422) with `details.errors: [{path, message}]`; the file is untouched.
   */
  write(config: Readonly<Record<string, unknown>>): Promise<ReloadResult>;
  /**
   * Applies a merge patch (RFC 7396) to the file's content and writes the result.
   * @throws MortiseError `invalid_config` (422), as `write`, or when the file cannot be read.
   */
  patch(patch: Readonly<Record<string, unknown>>): Promise<ReloadResult>;
}

/** All settings of a process. */
export interface Settings extends Disposable {
  readonly host: HostSettings;
  /** Warnings about host settings that were replaced by their defaults. Log them once. */
  readonly warnings: readonly string[];
  /**
   * Loads `config/<owner>.json` and watches it. Never rejects for a bad configuration: see `problem`.
   * @throws MortiseError `invalid_schema` for an invalid schema.
   */
  own<C extends object = Readonly<Record<string, unknown>>>(owner: string, schema: JsonSchema): Promise<OwnedConfig<C>>;
  /** Every effective value of the host and of the owners known now; secrets masked. */
  effective(owner?: string): readonly EffectiveValue[];
  /** A value of the environment (file, then process), with the `NEXTAI_` alias; blank is unset. */
  variable(name: string): string | undefined;
  /** `host.use('settings')` of one plugin. */
  serviceFor(owner: string): SettingsService;
  /** `host.use('secrets')` of one plugin; `names` are its `permissions.secrets` (`*` at either end is a wildcard). */
  secretsFor(names: readonly string[]): SecretsService;
  /** Alerts raised so far and not yet taken are delivered to the first listener. */
  onAlert(run: (alert: Alert) => void): Disposable;
  findings(): readonly Finding[];
  /** Clear values of all secrets known now, for the log's filter only. */
  secrets(): readonly string[];
  /** Called for each secret value that becomes known later. */
  onSecret(run: (value: string) => void): Disposable;
  /** Called for each file that the process itself has replaced. */
  onWrite(run: (write: FileWrite) => void): Disposable;
  wrote(write: FileWrite): void;
  /** Also polls another file at the same interval, and lists its finding. */
  also(watched: AlsoWatched): Disposable;
  raise(alert: Alert): void;
  /** Starts polling the files every `host.pollMs`. Timers do not keep the process alive. */
  watch(): void;
  /** Checks all files once. */
  poll(): Promise<void>;
}

/** Something that is polled together with the configuration files. */
export interface AlsoWatched {
  poll(): Promise<unknown>;
  findings(): readonly Finding[];
}

/** The settings, or one error per problem that prevents a start. */
export type OpenedSettings =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly errors: readonly MortiseError[] };

/** The content of `plugins.json`. */
export interface Desired {
  readonly version: 1;
  /** Increases with each write. */
  readonly revision: number;
  readonly plugins: Readonly<Record<string, DesiredPlugin>>;
  /** `tool:echo` → plugin key. */
  readonly bindings: Readonly<Record<string, string>>;
  /** Old plugin key → new plugin key. */
  readonly renamed: Readonly<Record<string, string>>;
}

export interface DesiredPlugin {
  readonly enabled: boolean;
  readonly required?: boolean;
}

/** `plugins.json`: read, watched, replaced atomically, with a last good copy in the data directory. */
export interface PluginsFile extends Disposable {
  readonly file: string;
  /** The last good state. */
  readonly current: Desired;
  readonly source: 'file' | 'last-good' | 'empty';
  /** The file's current problem. */
  readonly problem: Finding | null;
  /** Runs after each change, made here or by an editor. */
  subscribe(run: (next: Desired, previous: Desired) => void): Disposable;
  /** Runs after a change that someone else made to the file. */
  onEdit(run: (next: Desired, previous: Desired) => void): Disposable;
  /** Checks the file immediately. */
  reload(): Promise<boolean>;
  /**
   * Reads the file anew, applies `change`, checks, and replaces the file with the next revision. Serial. A state equal to
   * the old one writes nothing.
   * @throws MortiseError `revision_conflict` (409) when `revision` is not the current one; `invalid_plugins_file` (422).
   */
  write(change: (current: Desired) => Desired, options?: { readonly revision?: number }): Promise<Desired>;
}
