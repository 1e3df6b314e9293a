import { describeError, PluginProblem } from '../messages/plugin-problem.js';
import { type Problem, problem } from '../messages/plugin-problems.js';
import { isCodedError } from '../sdk/errors.js';
import type { KernelDeps } from './deps.js';
import type { EventBus } from './event-bus.js';
import type { Inventory } from './inventory.js';
import { faultLimit, faultWindowSeconds, type PluginRecord } from './plugin-record.js';

/** Of one plugin within a minute: a raw timer may fail for ever. */
const faultsLogged = 20;

interface FaultsDeps extends Pick<KernelDeps, 'clean' | 'clock' | 'log'> {
  readonly events: EventBus;
  readonly plugins: Pick<Inventory, 'record' | 'isRequired'>;
  quarantine(record: PluginRecord, shown: Problem): void;
}

/** Counts, logs and reports the faults of plugins, and decides when to quarantine one. */
export class Faults {
  readonly #deps: FaultsDeps;
  readonly #counted = new WeakSet<PluginProblem>();

  constructor(deps: FaultsDeps) {
    this.#deps = deps;
  }

  add(key: string, code: string, error: unknown): void {
    const { clean, clock, log, events } = this.#deps;
    // What the host refused is counted where it was tried, and may come back as an uncaught error or a failed start.
    if (error instanceof PluginProblem) {
      if (this.#counted.has(error)) return;
      this.#counted.add(error);
    }
    const record = this.#deps.plugins.record(key);
    const message = clean(describeError(error));
    if (code === 'callback_failed' && isCodedError(error) && !(error instanceof PluginProblem)) {
      log.warn({ plugin: key, code: error.code, error: message }, 'a plugin callback failed');
      return;
    }
    const count = record?.countFault(clock.now(), code, message) ?? 0;
    if (count <= faultsLogged) log.error({ plugin: key, code, err: error }, 'a plugin failed');
    if (!record) return;
    // The failing callback may be a listener of alerts: past the limit no more are sent.
    if (count <= faultLimit) {
      const sentence = `The plugin ${key} failed (${code}); mortise plugin inspect ${key} shows how.`;
      events.emit('alert', { source: `plugin:${key}`, severity: 'medium', code, message: sentence });
    }
    if (count < faultLimit || record.state === 'quarantined') return;
    // Nothing works without a required plugin, so an unreliable one is better than none.
    if (this.#deps.plugins.isRequired(key)) return;
    this.#deps.quarantine(record, problem('repeated_faults', count, faultWindowSeconds, message));
  }
}
