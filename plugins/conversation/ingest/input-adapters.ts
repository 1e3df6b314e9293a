import type {
  EventTaken,
  InputAdapterFacts,
  ObserveRequest,
  PublishResult,
  TriggerResult,
} from 'mortise/contracts/conversation';
import {
  type Alert,
  type CallOptions,
  isCodedError,
  isJsonObject,
  type ObservationInput,
  type Points,
  platformPrincipal,
  Throttle,
} from 'mortise/sdk';
import { cutText } from '../observation/payload.js';
import { isText } from '../observation/read-members.js';
import { RecentIds } from './recent-ids.js';

interface InputAdaptersDeps {
  readonly points: Points;
  readonly publish: (observation: ObservationInput, adapter: string) => PublishResult;
  readonly emit: (alert: Alert) => void;
  readonly coolingDown: (adapter: string) => boolean;
  readonly monotonic: () => number;
}

interface StartedAdapter {
  readonly key: string;
  readonly facts: InputAdapterFacts;
  /** It has `toObservation`. */
  readonly converts: boolean;
  /** It has `observe`. */
  readonly observes: boolean;
  readonly seen: RecentIds;
  open: boolean;
  /** Monotonic milliseconds of the last triggered `observe`. */
  observedAt: number;
}

/** Starts each contributed input adapter once, and stops it again. The fault of one does not affect the others. */
export class InputAdapters {
  readonly #deps: InputAdaptersDeps;
  readonly #adapters = new Map<string, StartedAdapter>();
  readonly #alerts: AdapterAlerts;
  #closed = false;

  constructor(deps: InputAdaptersDeps) {
    this.#deps = deps;
    this.#alerts = new AdapterAlerts(deps.emit, deps.monotonic);
  }

  /** Starts new contributions; refuses further events of withdrawn ones. */
  async follow(): Promise<void> {
    if (this.#closed) return;
    const active = this.#deps.points.list('input-adapter').filter((contribution) => contribution.active);
    const keys = new Set(active.map(({ key }) => key));
    for (const [key, adapter] of this.#adapters) {
      if (keys.has(key)) continue;
      adapter.open = false;
      this.#adapters.delete(key);
      this.#alerts.reset(key);
    }
    const added = active.filter(({ key }) => !this.#adapters.has(key));
    await Promise.all(
      added.map(({ key, facts, offers }) =>
        this.#start({
          key,
          facts,
          converts: offers.includes('toObservation'),
          observes: offers.includes('observe'),
          seen: new RecentIds(this.#deps.monotonic),
          open: true,
          observedAt: Number.NEGATIVE_INFINITY,
        }),
      ),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#adapters.values()].map((adapter) => this.#stop(adapter)));
  }

  /** Calls `observe` of an active adapter and publishes the events it returns. */
  async trigger(
    key: string,
    request: ObserveRequest,
    options: CallOptions = { principal: platformPrincipal },
  ): Promise<TriggerResult> {
    const { points, monotonic, coolingDown } = this.#deps;
    const adapter = this.#adapters.get(key);
    if (!adapter?.open) return { ok: false, reason: 'unknown' };
    if (!adapter.observes) return { ok: false, reason: 'not_active' };
    if (coolingDown(key)) return { ok: false, reason: 'cooling_down' };
    const now = monotonic();
    if (now - adapter.observedAt < (adapter.facts.minIntervalMs ?? 0)) return { ok: false, reason: 'too_soon' };
    adapter.observedAt = now;
    try {
      const events = await points.call('input-adapter', key, (it, ctx) => it.observe?.(request, ctx) ?? [], options);
      const results = events.map((event) => this.#take(adapter, event).ok);
      const taken = results.filter(Boolean).length;
      return { ok: true, taken, refused: results.length - taken };
    } catch (error) {
      this.#alerts.raise('adapter_observe_error', key, error);
      return { ok: false, reason: 'failed' };
    }
  }

  async #start(adapter: StartedAdapter): Promise<void> {
    const { key } = adapter;
    this.#adapters.set(key, adapter);
    try {
      await this.#deps.points.call(
        'input-adapter',
        key,
        (it, ctx) => it.start((event) => this.#take(adapter, event), ctx),
        { principal: platformPrincipal },
      );
    } catch (error) {
      adapter.open = false;
      this.#alerts.raise('adapter_start_error', key, error);
    }
  }

  async #stop(adapter: StartedAdapter): Promise<void> {
    const { key } = adapter;
    this.#adapters.delete(key);
    if (!adapter.open) return;
    adapter.open = false;
    try {
      await this.#deps.points.call('input-adapter', key, (it) => it.stop());
    } catch (error) {
      if (isCodedError(error) && error.code === 'contribution_unknown') return;
      this.#alerts.raise('adapter_stop_error', key, error);
    }
  }

  /** Converts and publishes one event. Never throws: an event that throws on access is `unreadable`. */
  #take(adapter: StartedAdapter, event: unknown): EventTaken {
    if (!adapter.open) return { ok: false, reason: 'closed' };
    const converted = adapter.converts ? this.#convert(adapter.key, event) : event;
    if (converted === 'unreadable' || converted === 'ignored') return { ok: false, reason: converted };
    try {
      return this.#publish(adapter, isJsonObject(converted) ? converted : {}, event);
    } catch (error) {
      this.#alerts.raise('adapter_parse_error', adapter.key, error, event);
      return { ok: false, reason: 'unreadable' };
    }
  }

  #convert(key: string, event: unknown): unknown {
    let converted: unknown = 'unreadable';
    let fault: unknown;
    // The callback runs synchronously; the promise only reports its outcome to the lease.
    const call = this.#deps.points.call('input-adapter', key, (it) => {
      try {
        converted = it.toObservation?.(event) ?? 'ignored';
      } catch (error) {
        fault = error;
        throw error;
      }
    });
    call.catch(() => undefined);
    if (converted === 'unreadable') this.#alerts.raise('adapter_parse_error', key, fault, event);
    return converted;
  }

  #publish({ key, facts, seen }: StartedAdapter, given: Partial<ObservationInput>, event: unknown): EventTaken {
    const rawId = facts.dedup && isJsonObject(given.evidence) ? given.evidence.raw_event_id : undefined;
    if (isText(rawId) && seen.find(key, rawId) !== undefined) return { ok: false, reason: 'duplicate' };
    const { payload } = given;
    const cut = isJsonObject(payload)
      ? cutText(payload)
      : { payload: payload as unknown as ObservationInput['payload'] };
    const observation = { ...given, ...cut, source_kind: 'external', ingress: 'adapter' };
    const result = this.#deps.publish(observation as ObservationInput, key);
    if (result.ok) {
      this.#alerts.reset(key);
      if (isText(rawId)) seen.remember(key, rawId, result.observation.obs_id);
      return { ok: true };
    }
    if (result.reason === 'queue_full') this.#alerts.raise('input_bus_backpressure', key);
    else if (result.reason === 'invalid') {
      const paths = result.errors?.map(({ path }) => path);
      this.#alerts.raise('adapter_emit_error', key, undefined, event, { paths });
    }
    return { ok: false, reason: result.reason };
  }
}

/** Minimum milliseconds between two `input_bus_backpressure` alerts of one adapter. */
const backpressureIntervalMs = 60_000;
/** Member names of a raw event that an alert shows; values are never shown. */
const shownNames = 50;

const table = {
  adapter_start_error: ['high', 'An input adapter could not be started.'],
  adapter_stop_error: ['medium', 'An input adapter could not be stopped.'],
  input_bus_backpressure: ['medium', 'An observation of an input adapter was refused: the input bus is full.'],
  adapter_emit_error: ['high', 'An input adapter published an invalid observation.'],
  adapter_parse_error: ['medium', 'An input adapter could not read an event.'],
  adapter_observe_error: ['medium', 'An input adapter could not look for events.'],
} as const satisfies Record<string, readonly [Alert['severity'], string]>;

/** Raises alerts about input adapters, with the number of consecutive failures. Contents of events are never shown. */
class AdapterAlerts {
  readonly #emit: (alert: Alert) => void;
  readonly #monotonic: () => number;
  readonly #failures = new Map<string, number>();
  readonly #throttle = new Throttle();

  constructor(emit: (alert: Alert) => void, monotonic: () => number) {
    this.#emit = emit;
    this.#monotonic = monotonic;
  }

  /** Restarts the count of consecutive failures. */
  reset(adapter: string): void {
    this.#failures.delete(adapter);
  }

  /** @param event the raw event, of which only member names are shown */
  raise(code: keyof typeof table, adapter: string, error?: unknown, event?: unknown, more: object = {}): void {
    if (code === 'input_bus_backpressure' && !this.#throttle.pass(adapter, this.#monotonic(), backpressureIntervalMs)) {
      return;
    }
    const failures = (this.#failures.get(adapter) ?? 0) + 1;
    this.#failures.set(adapter, failures);
    const [severity, message] = table[code];
    this.#emit({
      source: `adapter:${adapter}`,
      severity,
      code,
      message,
      data: {
        adapter,
        ...describe(error),
        consecutive_failures: failures,
        source_kind: 'adapter',
        source_id: adapter,
        ...(event === undefined ? {} : { names: namesOf(event) }),
        ...more,
      },
    });
  }
}

/** Class and code of an error; its message may quote the event. */
function describe(error: unknown): { readonly error_type?: string; readonly error?: string } {
  if (!(error instanceof Error)) return {};
  return { error_type: error.name, error: isCodedError(error) ? error.code : error.name };
}

function namesOf(event: unknown): readonly string[] {
  try {
    return typeof event === 'object' && event !== null ? Object.keys(event).slice(0, shownNames) : [];
  } catch {
    return [];
  }
}
