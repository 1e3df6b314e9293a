import type { MetricsService } from 'mortise/sdk';
import type { Conversation, ConversationDeps } from './conversation.js';

type ConversationMetrics = ConversationDeps['metrics'] & {
  /** Counts observations that a stop left unhandled. */
  readonly unhandled: (observations: number) => void;
  /** Counts idle sessions that were removed. */
  readonly collected: (sessions: number) => void;
};

/** Registers the metrics of the conversation. Gauges are read from the running conversation when metrics are collected. */
export function exposeMetrics(metrics: MetricsService, running: () => Conversation): ConversationMetrics {
  const ended = metrics.counter('mortise_observations_total', 'Observations by outcome', ['outcome']);
  const outcomes = {
    handled: ended.bind({ outcome: 'handled' }),
    refused: ended.bind({ outcome: 'refused' }),
    error: ended.bind({ outcome: 'error' }),
    loop_guard: ended.bind({ outcome: 'loop_guard' }),
  };
  const flags = metrics.counter('mortise_observation_flags_total', 'Quality flags of observations', ['flag']);
  const dropped = metrics.counter('mortise_bus_dropped_total', 'Observations refused by the bus', ['reason']);
  const inbox = metrics.counter('mortise_inbox_dropped_total', 'Observations refused by full inboxes').bind({});
  const errors = metrics.counter('mortise_worker_errors_total', 'Faults while observations were handled', ['step']);
  const collected = metrics.counter('mortise_sessions_collected_total', 'Sessions removed from memory', ['reason']);
  const unhandled = metrics
    .counter('mortise_observations_unhandled_total', 'Observations accepted and not handled before the stop', [])
    .bind({});
  const gauge = (name: string, help: string, read: (conversation: Conversation) => number): void =>
    metrics.observe(name, help, [], () => [{ labels: {}, value: read(running()) }]);
  gauge('mortise_sessions_active', 'Sessions in memory', ({ live }) => live.size);
  gauge('mortise_bus_published', 'Attempts to publish so far', (one) => one.stats().published);
  gauge('mortise_bus_accepted', 'Observations accepted so far', (one) => one.stats().accepted);
  gauge('mortise_bus_consumed', 'Observations routed so far', (one) => one.stats().consumed);
  gauge('mortise_bus_depth', 'Observations accepted and not yet routed', (one) => one.stats().depth);
  gauge('mortise_bus_high_water', 'Maximum depth so far', (one) => one.stats().high_water);
  return {
    count: (outcome) => outcomes[outcome].add(),
    flagged: ({ quality_flags }) => {
      for (const flag of quality_flags) flags.add(1, { flag });
    },
    busDropped: (reason) => dropped.add(1, { reason }),
    inboxDropped: () => inbox.add(),
    failed: (step) => errors.add(1, { step }),
    unhandled: (observations) => unhandled.add(observations),
    collected: (sessions) => collected.add(sessions, { reason: 'idle' }),
  };
}
