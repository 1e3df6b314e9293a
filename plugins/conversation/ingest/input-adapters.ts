import type {
  EventTaken,
  InputAdapterFacts,
  ObserveRequest,
  PublishResult,
  TriggerResult,
} from 'mortise/contracts/conversation';
import { type CallOptions, isCodedError, type ObservationInput, type Points } from 'mortise/sdk';
import { cutText } from '../cut-text.js';
import { isObject, isText } from '../problems.js';
import type { AdapterAlerts } from './adapter-alerts.js';
import { RecentIds } from './recent-ids.js';

export interface InputAdaptersPorts {
  readonly points: Points;
  readonly publish: (observation: ObservationInput, adapter: string) => PublishResult;
  readonly alerts: Pick<AdapterAlerts, 'raise' | 'succeeded' | 'forget'>;
  readonly coolingDown: (adapter: string) => boolean;
  readonly monotonic: () => number;
}

/** An adapter that was started. */
interface Door {
  readonly key: string;
  readonly facts: InputAdapterFacts;
  readonly reads: boolean;
  readonly observes: boolean;
  readonly seen: RecentIds;
  open: boolean;
  /** Monotonic milliseconds. */
  observedAt: number;
}

/** Starts the ways in that plugins contribute, once each, and stops them again. One that fails is alone with it. */
export class InputAdapters {
  readonly #ports: InputAdaptersPorts;
  readonly #doors = new Map<string, Door>();
  #closed = false;

  constructor(ports: InputAdaptersPorts) {
    this.#ports = ports;
  }

  /** Starts what is new; what has gone publishes nothing any more. */
  async follow(): Promise<void> {
    if (this.#closed) return;
    const there = this.#ports.points.list('input-adapter').filter(({ active }) => active);
    const keys = new Set(there.map(({ key }) => key));
    for (const [key, door] of this.#doors) {
      if (keys.has(key)) continue;
      door.open = false;
      this.#doors.delete(key);
      this.#ports.alerts.forget(key);
    }
    const added = there.filter(({ key }) => !this.#doors.has(key));
    await Promise.all(
      added.map(({ key, facts, offers }) =>
        this.#start({
          key,
          facts,
          reads: offers.includes('toObservation'),
          observes: offers.includes('observe'),
          seen: new RecentIds(this.#ports.monotonic),
          open: true,
          observedAt: Number.NEGATIVE_INFINITY,
        }),
      ),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#doors.values()].map((door) => this.#stop(door)));
  }

  async trigger(key: string, request: ObserveRequest, options: CallOptions = {}): Promise<TriggerResult> {
    const { points, alerts, monotonic, coolingDown } = this.#ports;
    const door = this.#doors.get(key);
    if (!door?.open) return { ok: false, reason: 'unknown' };
    if (!door.observes) return { ok: false, reason: 'not_active' };
    if (coolingDown(key)) return { ok: false, reason: 'cooling_down' };
    const now = monotonic();
    if (now - door.observedAt < (door.facts.minIntervalMs ?? 0)) return { ok: false, reason: 'too_soon' };
    door.observedAt = now;
    try {
      const look = points.call('input-adapter', key, (it, ctx) => it.observe?.(request, ctx) ?? [], options);
      const taken = (await look).map((event) => this.#take(door, event).ok);
      const count = taken.filter(Boolean).length;
      return { ok: true, taken: count, refused: taken.length - count };
    } catch (error) {
      alerts.raise('adapter_observe_error', key, error);
      return { ok: false, reason: 'failed' };
    }
  }

  async #start(door: Door): Promise<void> {
    const { points, alerts } = this.#ports;
    this.#doors.set(door.key, door);
    try {
      await points.call('input-adapter', door.key, (adapter, ctx) =>
        adapter.start((event) => this.#take(door, event), ctx),
      );
    } catch (error) {
      door.open = false;
      alerts.raise('adapter_start_error', door.key, error);
    }
  }

  async #stop(door: Door): Promise<void> {
    this.#doors.delete(door.key);
    if (!door.open) return;
    door.open = false;
    try {
      await this.#ports.points.call('input-adapter', door.key, (adapter) => adapter.stop());
    } catch (error) {
      if (isCodedError(error) && error.code === 'contribution_unknown') return;
      this.#ports.alerts.raise('adapter_stop_error', door.key, error);
    }
  }

  /** Never throws: what an adapter hands in is its own affair, and told as such. */
  #take(door: Door, event: unknown): EventTaken {
    const { key } = door;
    if (!door.open) return { ok: false, reason: 'closed' };
    const read = this.#read(door, event);
    if (read === 'unreadable' || read === 'ignored') return { ok: false, reason: read };
    try {
      return this.#takeRead(door, read, event);
    } catch (error) {
      this.#ports.alerts.raise('adapter_parse_error', key, error, event);
      return { ok: false, reason: 'unreadable' };
    }
  }

  #takeRead({ key, facts, seen }: Door, read: unknown, event: unknown): EventTaken {
    const given: Partial<ObservationInput> = isObject(read) ? read : {};
    const rawId = facts.dedup && isObject(given.evidence) ? given.evidence.raw_event_id : undefined;
    if (isText(rawId) && seen.find(key, rawId) !== undefined) return { ok: false, reason: 'duplicate' };
    const result = this.#publish(key, given, event);
    if (result.ok && isText(rawId)) seen.remember(key, rawId, result.observation.obs_id);
    return result.ok ? { ok: true } : { ok: false, reason: result.reason };
  }

  #read({ key, reads }: Door, event: unknown): unknown {
    if (!reads) return event;
    const { points, alerts } = this.#ports;
    let read: unknown = 'unreadable';
    let fault: unknown;
    const call = points.call('input-adapter', key, (adapter) => {
      try {
        read = adapter.toObservation?.(event) ?? 'ignored';
      } catch (error) {
        fault = error;
        throw error;
      }
    });
    call.catch(() => undefined);
    if (read === 'unreadable') alerts.raise('adapter_parse_error', key, fault, event);
    return read;
  }

  #publish(key: string, given: Partial<ObservationInput>, event: unknown): PublishResult {
    const { alerts, publish } = this.#ports;
    const { payload } = given;
    const cut = isObject(payload) ? cutText(payload) : { payload: payload as unknown as ObservationInput['payload'] };
    const whole = { ...given, ...cut, source_kind: 'external', ingress: 'adapter' };
    const result = publish(whole as ObservationInput, key);
    if (result.ok) alerts.succeeded(key);
    else if (result.reason === 'queue_full') alerts.raise('input_bus_backpressure', key);
    else if (result.reason === 'invalid') {
      alerts.raise('adapter_emit_error', key, undefined, event, { paths: result.errors?.map(({ path }) => path) });
    }
    return result;
  }
}
