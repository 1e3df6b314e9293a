import type { Logger } from '../sdk/context.js';
import type { KernelLogger } from './ports.js';
import { RateBudget } from './rate-budget.js';

/** Above these a plugin fills disks and screens and tells nobody anything. */
const logLines = { count: 5_000, windowMs: 10_000 } as const;
const alerts = { count: 60, windowMs: 60_000 } as const;

export interface Dropped {
  readonly what: 'log lines' | 'alerts';
  readonly count: number;
  readonly limit: string;
}

/** What one plugin run says to the outside, kept within bounds: one that loops over its log must not drown the others. */
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
