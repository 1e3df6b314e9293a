import { LeaseBook } from './lease-book.js';
import type { PluginOutput } from './plugin-output.js';
import type { PluginRunPorts } from './plugin-run-ports.js';

/** The leases of one run of a plugin: how they are logged and traced, and whose fault it is when one does not end. */
export function openLeaseBook(plugin: string, output: PluginOutput, ports: PluginRunPorts): LeaseBook {
  const { log, clock } = ports.kernel;
  return new LeaseBook(plugin, {
    monotonic: () => clock.monotonic(),
    logFor: (lease) =>
      output.bounded(log.child({ plugin, request_id: lease.requestId, correlation_id: lease.correlationId })),
    startSpan: ({ point, key, plugin }, parent) =>
      ports.kernel.tracing.start(`${point} ${key}`, parent, { 'mortise.plugin': plugin }),
    onIgnoredAbort: ({ accountable, point, key, plugin }) => {
      const blocker = ports.kernel.blocker?.();
      if (blocker !== undefined && blocker !== accountable) return false;
      const what = accountable === plugin ? `${point} "${key}"` : `what it does with ${point} "${key}"`;
      if (ports.deadline.begun) {
        ports.onUnfinished({ plugin: accountable, what });
        return true;
      }
      ports.onFault(accountable, 'ignored_abort', new Error(`${what} went on after it was told to stop`));
      return true;
    },
  });
}
