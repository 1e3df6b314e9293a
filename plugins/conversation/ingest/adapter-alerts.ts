import { type Alert, isCodedError, Throttle } from 'mortise/sdk';

/** How long an adapter keeps quiet about a full bus, milliseconds. */
const quietMs = 60_000;
/** Names of members that a raw event shows in an alert; never its values. */
const shownNames = 50;

const table = {
  adapter_start_error: ['high', 'An input adapter could not be started.'],
  adapter_stop_error: ['medium', 'An input adapter could not be stopped.'],
  input_bus_backpressure: ['medium', 'What an input adapter published was refused.'],
  adapter_emit_error: ['high', 'An input adapter published what is no observation.'],
  adapter_parse_error: ['medium', 'An input adapter could not read an event.'],
  adapter_observe_error: ['medium', 'An input adapter could not look for events.'],
} as const satisfies Record<string, readonly [Alert['severity'], string]>;

export type AdapterTrouble = keyof typeof table;

/** Tells what goes wrong with input adapters: whose it is, which time in a row, and never a word of an event. */
export class AdapterAlerts {
  readonly #emit: (alert: Alert) => void;
  readonly #monotonic: () => number;
  readonly #failures = new Map<string, number>();
  readonly #quiet = new Throttle();

  constructor(emit: (alert: Alert) => void, monotonic: () => number) {
    this.#emit = emit;
    this.#monotonic = monotonic;
  }

  /** Something of the adapter was taken: what fails next is the first in a row. */
  succeeded(adapter: string): void {
    this.#failures.delete(adapter);
  }

  forget(adapter: string): void {
    this.#failures.delete(adapter);
  }

  /** @param event what it was about, of which only the names of its members are shown */
  raise(trouble: AdapterTrouble, adapter: string, error?: unknown, event?: unknown, more: object = {}): void {
    if (trouble === 'input_bus_backpressure' && !this.#quiet.pass(adapter, this.#monotonic(), quietMs)) return;
    const failures = (this.#failures.get(adapter) ?? 0) + 1;
    this.#failures.set(adapter, failures);
    const [severity, message] = table[trouble];
    this.#emit({
      source: `adapter:${adapter}`,
      severity,
      code: trouble,
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

/** Class and code of an error; its text may quote the event. */
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
