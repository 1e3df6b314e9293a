import type { PublishRefusal } from 'mortise/contracts/conversation';
import type { MetricsService } from 'mortise/sdk';
import type { Conversation } from './conversation.js';
import type { WorkerPorts, WorkerStep } from './worker-ports.js';

export interface ConversationMetrics extends Pick<WorkerPorts, 'count' | 'flagged'> {
  readonly busDropped: (reason: PublishRefusal) => void;
  readonly inboxDropped: () => void;
  readonly failed: (step: WorkerStep) => void;
  /** The process stops and has not handled them. */
  readonly unhandled: (observations: number) => void;
  /** Idle sessions were forgotten. */
  readonly collected: (sessions: number) => void;
}

/** Counters of the conversation; what is a level is read when metrics are asked for. */
export function exposeMetrics(metrics: MetricsService, running: () => Conversation): ConversationMetrics {
  const ended = metrics.counter('mortise_observations_total', 'Observations by how they ended', ['outcome']);
  const outcomes = {
    handled: ended.bind({ outcome: 'handled' }),
    refused: ended.bind({ outcome: 'refused' }),
    error: ended.bind({ outcome: 'error' }),
    loop_guard: ended.bind({ outcome: 'loop_guard' }),
  };
  const flags = metrics.counter('mortise_observation_flags_total', 'Observations with something doubtful', ['flag']);
  const dropped = metrics.counter('mortise_bus_dropped_total', 'Observations that the bus refused', ['reason']);
  const inbox = metrics.counter('mortise_inbox_dropped_total', 'Observations that full inboxes refused').bind({});
  const errors = metrics.counter('mortise_worker_errors_total', 'Faults while observations were handled', ['step']);
  const collected = metrics.counter('mortise_sessions_collected_total', 'Sessions that were forgotten', ['reason']);
  const unhandled = metrics
    .counter('mortise_observations_unhandled_total', 'Observations accepted and not handled before the end', [])
    .bind({});
  const level = (name: string, help: string, read: (conversation: Conversation) => number): void =>
    metrics.observe(name, help, [], () => [{ labels: {}, value: read(running()) }]);
  level('mortise_sessions_active', 'Sessions in memory', ({ live }) => live.size);
  level('mortise_bus_published', 'Attempts to publish so far', (one) => one.stats().published);
  level('mortise_bus_accepted', 'Observations accepted so far', (one) => one.stats().accepted);
  level('mortise_bus_consumed', 'Observations routed so far', (one) => one.stats().consumed);
  level('mortise_bus_depth', 'Observations accepted and not yet routed', (one) => one.stats().depth);
  level('mortise_bus_high_water', 'The greatest depth so far', (one) => one.stats().high_water);
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
