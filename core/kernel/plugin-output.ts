import type { Logger } from '../sdk/context.js';
import type { KernelLogger } from './deps.js';

/** More than this is of no use to a reader and fills disks. */
const logLines = { count: 5_000, windowMs: 10_000 } as const;
const alerts = { count: 60, windowMs: 60_000 } as const;

export interface Dropped {
  readonly what: 'log lines' | 'alerts';
  readonly count: number;
  readonly limit: string;
}

/** Limits the log lines and alerts of one plugin run: a loop that logs must not drown those of others. */
export class PluginOutput {
  readonly #lines: RateBudget;
  readonly #alerts: RateBudget;

  constructor(plugin: string, log: KernelLogger, monotonic: () => number) {
    const warn = (what: string): void => log.warn({ plugin }, `a plugin sends too many ${what}; the rest is dropped`);
    this.#lines = new RateBudget(logLines.count, logLines.windowMs, monotonic, () => warn('log lines'));
    this.#alerts = new RateBudget(alerts.count, alerts.windowMs, monotonic, () => warn('alerts'));
  }

  /** The log as the plugin gets it. */
  bounded(log: KernelLogger): Logger {
    const at =
      (level: keyof Logger) =>
      (fields: object | string, message?: string): void => {
        if (log.enabled?.(level) === false || !this.#lines.take()) return;
        log[level](fields, message);
      };
    return Object.freeze({
      trace: at('trace'),
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
    });
  }

  mayAlert(): boolean {
    return this.#alerts.take();
  }

  dropped(): readonly Dropped[] {
    const rows: readonly Dropped[] = [
      { what: 'log lines', count: this.#lines.refused, limit: `${logLines.count} in ${logLines.windowMs / 1_000} s` },
      { what: 'alerts', count: this.#alerts.refused, limit: `${alerts.count} in ${alerts.windowMs / 1_000} s` },
    ];
    return rows.filter((row) => row.count > 0);
  }
}

/** Allows a number of events per window of time; the rest is refused and counted. */
export class RateBudget {
  /** Total number refused. */
  refused = 0;
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #onRefuse: () => void;
  #windowEnd = 0;
  #taken = 0;

  /** `onRefuse` is called once per window, at the first refusal. */
  constructor(limit: number, windowMs: number, now: () => number, onRefuse: () => void) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#now = now;
    this.#onRefuse = onRefuse;
  }

  take(): boolean {
    const now = this.#now();
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + this.#windowMs;
      this.#taken = 0;
    }
    this.#taken += 1;
    if (this.#taken <= this.#limit) return true;
    this.refused += 1;
    if (this.#taken === this.#limit + 1) this.#onRefuse();
    return false;
  }
}
