import type { Disposable, Logger } from './context.js';
import type { HostEvents } from './events.js';
import type { HostServices } from './host/index.js';
import type { PluginHealth } from './plugin-health.js';
import type { ExtensionPointFacts, ExtensionPoints } from './points/index.js';
import type { Points } from './points.js';
import type { Services } from './services.js';

export type StopReason = 'disabled' | 'restart' | 'reconfigure' | 'dependency' | 'shutdown' | 'failed';

/** A plugin's validated, frozen configuration, available as `host.config`. */
export type PluginConfig = Readonly<Record<string, unknown>>;

/**
 * What a plugin may do while it registers: declare what it adds. All of it becomes visible at once when the plugin has
 * started.
 */
export interface RegisterHost<C extends object = PluginConfig> {
  readonly key: string;
  /** Validated against the plugin's `config.schema.json`, defaults filled in, frozen. */
  readonly config: Readonly<C>;
  readonly log: Logger;
  /** The facts of a contribution in the manifest (`contributes.<point>[].facts`). */
  facts<P extends keyof ExtensionPointFacts & string>(point: P, key: string): ExtensionPointFacts[P];
  /**
   * Adds a value to an extension point. The manifest must list the key (or a pattern that covers it).
   * While the plugin runs, it may add and dispose only keys that a pattern of its manifest covers.
   */
  contribute<P extends keyof ExtensionPoints & string>(point: P, key: string, value: ExtensionPoints[P]): Disposable;
  /** Offers a service to plugins that name this plugin in `requires` or `optional`. The manifest must list it. */
  provide<S extends keyof Services & string>(service: S, value: Services[S]): void;
}

/** What a plugin may do while it starts and runs. The host removes all that it adds here when it stops. */
export interface StartHost<C extends object = PluginConfig> extends RegisterHost<C> {
  /** A host service listed in `permissions.services`, or a service of a plugin in `requires`. */
  use<S extends keyof HostServices & string>(service: S): HostServices[S];
  use<S extends keyof Services & string>(service: S): Services[S];
  /** A service of a plugin in `optional`, which may appear and disappear while this plugin runs. */
  watch<S extends keyof Services & string>(service: S): Watched<Services[S]>;
  readonly points: Points;
  /** Lets the host dispose something when the plugin stops, last in first out. Returns its argument. */
  own<D extends Disposable>(disposable: D): D;
  /** Runs every `ms` milliseconds as a leased call; runs do not overlap. */
  every(ms: number, run: (signal: AbortSignal) => unknown): Disposable;
  /**
   * A maintenance schedule in an IANA zone, run by node-cron: its grammar (five fields, or six with leading seconds) and
   * its behaviour at clock changes are node-cron's. Runs never overlap, and missed runs are skipped.
   * @throws MortiseError `invalid_cron` or `invalid_zone`.
   */
  cron(expression: string, zone: string, run: (signal: AbortSignal) => unknown): Disposable;
  /** Listens to an event. For awaited events the host waits for the promise that `run` returns. */
  on<E extends keyof HostEvents & string>(event: E, run: (event: HostEvents[E]) => unknown): Disposable;
  emit<E extends keyof HostEvents & string>(event: E, value: HostEvents[E]): void;
  /** Aborted when the plugin is being stopped. */
  readonly signal: AbortSignal;
}

export interface Watched<T> {
  /** The current service; undefined while its plugin is not active. */
  readonly current: T | undefined;
  onChange(run: (service: T | undefined) => void): Disposable;
}

/** Functions that the host calls while a plugin runs and when it stops. */
export interface PluginLifecycle<C extends object = PluginConfig> {
  /**
   * The process is shutting down: finish accepted work while all other plugins still run, and accept nothing new.
   * `stop` follows.
   *
   * @param until epoch milliseconds after which the host does not wait
   */
  drain?(until: number): void | Promise<void>;
  stop?(reason: StopReason): void | Promise<void>;
  /** Receives new validated configuration. Returns `applied` when it is in use, `restart` when the plugin must restart. */
  reconfigure?(next: Readonly<C>): 'applied' | 'restart' | Promise<'applied' | 'restart'>;
  health?(signal: AbortSignal): PluginHealth | Promise<PluginHealth>;
}

/**
 * The default export of a plugin is a function that returns this: `export default function echo(): PluginDefinition`.
 *
 * @example return { key, async start(host) { const db = await connect(host.config); return { stop: () => db.close() }; } };
 */
export interface PluginDefinition<C extends object = PluginConfig> extends PluginLifecycle<C> {
  /** Equal to the manifest's key. */
  readonly key: string;
  /** Synchronous and without effects; returning a promise is an error. */
  register?(host: RegisterHost<C>): void;
  /**
   * Connects. Its contributions and services are published together with those of `register` once it resolves. The
   * functions that it returns take precedence over those of the definition.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most plugins return nothing
  start?(host: StartHost<C>): void | PluginLifecycle<C> | Promise<void | PluginLifecycle<C>>;
}
