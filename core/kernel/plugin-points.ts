import type { CallContext, Disposable } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { ExtensionPoints } from '../sdk/points/index.js';
import type { CallOptions, Contribution, HeldCall, Pipeline, PipelineStage, Points } from '../sdk/points.js';
import { runSynchronously } from './attribution.js';
import type { Lease } from './lease.js';
import { HeldLease, leasedStream } from './long-calls.js';
import type { Registered, Registry } from './registry.js';

type PointName = keyof ExtensionPoints & string;

interface PluginPointsDeps {
  /** The plugin that calls; absent for the platform itself. */
  readonly caller?: string;
  readonly registry: Registry;
  /** Contributions that enabled plugins declare and do not serve now. */
  declared(point: string): readonly Contribution[];
  /** Ties a listener to the caller's own life. */
  own(undo: () => void): Disposable;
  /** Runs a listener on the caller's account. */
  guard(run: () => void): void;
}

/** Calls into other plugins: each a lease of the plugin that is called. */
export class PluginPoints implements Points {
  readonly #deps: PluginPointsDeps;

  constructor(deps: PluginPointsDeps) {
    this.#deps = deps;
  }

  keys(point: PointName): readonly string[] {
    return this.#deps.registry.all(point).map((one) => one.key);
  }

  list<P extends PointName>(point: P): readonly Contribution<P>[] {
    const active = this.#deps.registry
      .all(point)
      .map((one) => ({ key: one.key, plugin: one.plugin, facts: one.facts, offers: one.offers, active: true }));
    return [...active, ...this.#deps.declared(point)] as unknown as readonly Contribution<P>[];
  }

  call<P extends PointName, R>(
    point: P,
    key: string,
    run: (value: ExtensionPoints[P], ctx: CallContext) => R | Promise<R>,
    options?: CallOptions,
  ): Promise<R> {
    try {
      const entry = this.#find(point, key);
      const lease = entry.leases.open(point, entry.key, entry.stats, entry.timeoutMs, options);
      return Promise.resolve(lease.run(run, this.#wrap<P>(entry, lease)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async *stream<P extends PointName, T>(
    point: P,
    key: string,
    open: (value: ExtensionPoints[P], ctx: CallContext) => AsyncIterable<T>,
    options?: CallOptions,
  ): AsyncGenerator<T> {
    const entry = this.#find(point, key);
    const lease = entry.leases.open(point, entry.key, entry.stats, entry.timeoutMs, options);
    yield* leasedStream(lease, () => open(this.#wrap<P>(entry, lease), lease));
  }

  hold<P extends PointName>(point: P, key: string, options?: CallOptions): HeldCall<ExtensionPoints[P]> {
    const entry = this.#find(point, key);
    // The limit is that of the call, not of the wait before it.
    const lease = entry.leases.open(point, entry.key, entry.stats, entry.timeoutMs, options, 0);
    return new HeldLease(lease, this.#wrap<P>(entry, lease), options?.timeoutMs ?? entry.timeoutMs);
  }

  pipeline<P extends PointName>(point: P): Pipeline<P> {
    const { registry } = this.#deps;
    const dispatch = registry.dispatch(point);
    if (dispatch !== undefined && dispatch !== 'synchronous') {
      throw new MortiseError('point_not_synchronous', `The point "${point}" is not synchronous; use points.call().`, {
        status: 500,
      });
    }
    let stages: readonly PipelineStage<P>[] = [];
    let built = -1;
    return {
      get stages() {
        if (built !== registry.revision(point)) {
          stages = registry.all(point).map((one) => stageOf<P>(one));
          built = registry.revision(point);
        }
        return stages;
      },
      get revision() {
        return registry.revision(point);
      },
    };
  }

  onChange(point: PointName, run: () => void): Disposable {
    return this.#deps.own(this.#deps.registry.onChange(point, () => this.#deps.guard(run)));
  }

  #wrap<P extends PointName>({ wrap }: Registered, lease: Lease): ExtensionPoints[P] {
    lease.calledBy(this.#deps.caller);
    return wrap(lease) as ExtensionPoints[P];
  }

  #find(point: PointName, key: string): Registered {
    const { registry } = this.#deps;
    const entry = registry.find(point, key);
    if (entry) return entry;
    const known = this.keys(point);
    const declared = this.#deps
      .declared(point)
      .find((one) => one.key === key || registry.address(point, one.plugin, one.key) === key);
    throw new MortiseError('contribution_unknown', `There is no ${point} "${key}".`, {
      status: 404,
      details: { point, key, known, ...(declared ? { declared_by: declared.plugin } : {}) },
      hint: declared
        ? `mortise plugin inspect ${declared.plugin} shows why it is not running.`
        : known.length > 0
          ? `There are: ${known.join(', ')}.`
          : `No active plugin contributes a ${point}.`,
    });
  }
}

/** Synchronous stages are too hot for a lease object each: counted, timed and attributed in place. */
function stageOf<P extends PointName>(entry: Registered): PipelineStage<P> {
  const value = entry.value as ExtensionPoints[P];
  const { stats, leases } = entry;
  return {
    key: entry.key,
    plugin: entry.plugin,
    facts: entry.facts as PipelineStage<P>['facts'],
    run: (use) =>
      runSynchronously(entry.plugin, () => {
        const startedAt = leases.deps.monotonic();
        stats.inFlight += 1;
        let failed = true;
        try {
          const result = use(value);
          failed = false;
          return result;
        } finally {
          stats.record(leases.deps.monotonic() - startedAt, failed);
        }
      }),
    failed: () => {
      stats.errors += 1;
    },
  };
}
