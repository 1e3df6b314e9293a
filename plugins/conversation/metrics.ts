import type { MetricsService } from 'mortise/sdk';
import type { Conversation } from './conversation.js';
import type { WorkerPorts } from './worker.js';

/** Counters of the conversation; what is a level is read when metrics are asked for. */
export function exposeMetrics(
  metrics: MetricsService,
  running: () => Conversation,
): { readonly count: WorkerPorts['count'] } {
  const handled = metrics.counter('mortise_observations_total', 'Observations by how they ended', ['outcome']);
  const outcomes = {
    handled: handled.bind({ outcome: 'handled' }),
    refused: handled.bind({ outcome: 'refused' }),
    error: handled.bind({ outcome: 'error' }),
    loop_guard: handled.bind({ outcome: 'loop_guard' }),
  };
  const level = (name: string, help: string, read: (conversation: Conversation) => number): void =>
    metrics.observe(name, help, [], () => [{ labels: {}, value: read(running()) }]);
  level('mortise_sessions_active', 'Sessions in memory', ({ live }) => live.size);
  level('mortise_sessions_collected', 'Idle sessions forgotten so far', ({ live }) => live.collected);
  level('mortise_bus_depth', 'Observations accepted and not yet routed', (one) => one.stats().depth);
  level('mortise_bus_refused', 'Observations refused so far', (one) =>
    Object.values(one.stats().dropped).reduce((sum, count) => sum + count, 0),
  );
  level('mortise_inbox_refused', 'Observations refused by full inboxes so far', (one) => one.stats().inbox_dropped);
  return { count: (what) => outcomes[what].add() };
}
