import { type Problem, problem } from '../messages/plugin-problems.js';
import { isCodedError } from '../sdk/errors.js';
import type { KernelPorts } from './deps.js';
import type { EventBus } from './event-bus.js';
import { describeError, harmless, PluginProblem } from './plugin-problem.js';
import { faultLimit, faultWindowSeconds, type PluginRecord } from './plugin-record.js';

/** Of one plugin within a minute: a timer that it made past the host may fail for ever. */
const faultsLogged = 20;

export interface FaultsPorts {
  readonly kernel: Pick<KernelPorts, 'clean' | 'clock' | 'log'>;
  readonly events: EventBus;
  record(key: string): PluginRecord | undefined;
  isRequired(key: string): boolean;
  quarantine(record: PluginRecord, shown: Problem): void;
}

/** Counts, logs and tells the faults of plugins, and decides when it is enough. */
export class Faults {
  readonly #ports: FaultsPorts;
  readonly #told = new WeakSet<PluginProblem>();

  constructor(ports: FaultsPorts) {
    this.#ports = ports;
  }

  take(key: string, code: string, thrown: unknown): void {
    const { kernel, events } = this.#ports;
    const error = harmless(thrown);
    // What the host refused is counted where it was tried, and may come by again as an uncaught error or a failed start.
    if (error instanceof PluginProblem) {
      if (this.#told.has(error)) return;
      this.#told.add(error);
    }
    const record = this.#ports.record(key);
    const message = kernel.clean(describeError(error));
    if (code === 'callback_failed' && isCodedError(error) && !(error instanceof PluginProblem)) {
      kernel.log.warn({ plugin: key, code: error.code, error: message }, 'a plugin callback failed');
      return;
    }
    const count = record?.countFault(kernel.clock.now(), code, message) ?? 0;
    if (count <= faultsLogged) kernel.log.error({ plugin: key, code, err: error }, 'a plugin failed');
    if (!record) return;
    // A listener of alerts may be what fails: past the limit nobody is told again.
    if (count <= faultLimit) {
      const sentence = `The plugin ${key} failed (${code}); mortise plugin inspect ${key} shows how.`;
      events.emit('alert', { source: `plugin:${key}`, severity: 'medium', code, message: sentence });
    }
    if (count < faultLimit || record.state === 'quarantined') return;
    // Without it nothing works, and nobody could release it: one that limps serves better than none.
    if (this.#ports.isRequired(key)) return;
    this.#ports.quarantine(record, problem('repeated_faults', count, faultWindowSeconds, message));
  }
}
