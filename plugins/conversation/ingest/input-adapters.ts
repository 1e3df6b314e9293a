import {
  type Alert,
  isCodedError,
  type ObservationInput,
  type Points,
  type PublishResult,
  QuietTimes,
} from 'mortise/sdk';

/** How long an adapter keeps quiet about a full bus, milliseconds. */
const quietMs = 60_000;
/** Names of members that a raw event shows in an alert; never its values. */
const shownNames = 50;

export interface InputAdaptersPorts {
  readonly points: Points;
  readonly publish: (observation: ObservationInput, adapter: string) => PublishResult;
  readonly alert: (alert: Alert) => void;
  readonly monotonic: () => number;
}

const table = {
  adapter_start_error: ['high', 'An input adapter could not be started.'],
  adapter_stop_error: ['medium', 'An input adapter could not be stopped.'],
  input_bus_backpressure: ['medium', 'What an input adapter published was refused.'],
  adapter_emit_error: ['high', 'An input adapter published what is no observation.'],
} as const satisfies Record<string, readonly [Alert['severity'], string]>;

/** Starts the ways in that plugins contribute, once each, and stops them again. One that fails is alone with it. */
export class InputAdapters {
  readonly #ports: InputAdaptersPorts;
  readonly #running = new Map<string, { open: boolean }>();
  readonly #failures = new Map<string, number>();
  readonly #quiet = new QuietTimes();
  #closed = false;

  constructor(ports: InputAdaptersPorts) {
    this.#ports = ports;
  }

  /** Starts what is new; what has gone publishes nothing any more. */
  async follow(): Promise<void> {
    if (this.#closed) return;
    const keys = this.#ports.points.keys('input-adapter');
    for (const [key, door] of this.#running) {
      if (keys.includes(key)) continue;
      door.open = false;
      this.#running.delete(key);
    }
    await Promise.all(keys.filter((key) => !this.#running.has(key)).map((key) => this.#start(key)));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running.keys()].map((key) => this.#stop(key)));
  }

  async #start(key: string): Promise<void> {
    const door = { open: true };
    this.#running.set(key, door);
    try {
      await this.#ports.points.call('input-adapter', key, (adapter, ctx) =>
        adapter.start((observation) => this.#publish(key, door, observation), ctx),
      );
    } catch (error) {
      door.open = false;
      this.#tell('adapter_start_error', key, error);
    }
  }

  async #stop(key: string): Promise<void> {
    const door = this.#running.get(key);
    if (!door) return;
    door.open = false;
    this.#running.delete(key);
    try {
      await this.#ports.points.call('input-adapter', key, (adapter) => adapter.stop());
    } catch (error) {
      if (!isCodedError(error) || error.code !== 'contribution_unknown') this.#tell('adapter_stop_error', key, error);
    }
  }

  #publish(key: string, door: { readonly open: boolean }, observation: unknown) {
    if (!door.open) return { ok: false, reason: 'closed' };
    const names = typeof observation === 'object' && observation !== null ? Object.keys(observation) : [];
    const given = (names.length > 0 ? observation : {}) as ObservationInput;
    const result = this.#ports.publish({ ...given, source_kind: 'external', ingress: 'adapter' }, key);
    if (result.ok) {
      this.#failures.delete(key);
      return { ok: true };
    }
    if (result.reason === 'invalid') {
      const paths = result.errors?.map(({ path }) => path);
      this.#tell('adapter_emit_error', key, undefined, { paths, names: names.slice(0, shownNames) });
    } else if (result.reason === 'queue_full') {
      if (this.#quiet.pass(key, this.#ports.monotonic(), quietMs)) this.#tell('input_bus_backpressure', key, undefined);
    }
    return { ok: false, reason: result.reason };
  }

  #tell(code: keyof typeof table, key: string, error: unknown, more: Readonly<Record<string, unknown>> = {}): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const [severity, message] = table[code];
    const name = error instanceof Error ? error.name : undefined;
    this.#ports.alert({
      source: `adapter:${key}`,
      severity,
      code,
      message,
      data: {
        adapter: key,
        ...(name === undefined ? {} : { error_type: name, error: isCodedError(error) ? error.code : name }),
        consecutive_failures: failures,
        source_kind: 'adapter',
        source_id: key,
        ...more,
      },
    });
  }
}
