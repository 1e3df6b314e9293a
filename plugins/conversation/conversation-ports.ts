import type { ObservationType, Points } from 'mortise/sdk';
import type { Cooldowns } from './cooldowns.js';
import type { EgressHub } from './egress/egress-hub.js';
import type { Unhandled } from './end-accepted.js';
import type { HandlerEntry } from './handler-table.js';
import type { Schedule } from './input-bus.js';
import type { LiveSession } from './live-session.js';
import type { ConversationMetrics } from './metrics.js';
import type { Routing } from './route-observation.js';
import type { WorkerPorts } from './worker-ports.js';

/** What the conversation needs of the platform and of the parts beside it. */
export interface ConversationPorts {
  readonly points: Points;
  /** The active handlers of a type, in order. */
  readonly handlers: (type: ObservationType) => readonly HandlerEntry[];
  readonly gate: WorkerPorts['gate'];
  /** Sources of agents that may start a turn in another session. */
  readonly loopAllowed: () => readonly string[];
  readonly hub: Pick<EgressHub, 'enqueue'>;
  readonly cooldowns: Cooldowns;
  readonly routing: Routing;
  readonly limits: {
    readonly busCapacity: number;
    readonly inboxCapacity: number;
    readonly concurrentTurns: number;
  };
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  readonly raise: (code: AlertCode, session: LiveSession | undefined, detail: Record<string, unknown>) => void;
  /** What was accepted and has not ended before the limit of the stop. */
  readonly unhandled: (left: Unhandled) => void;
  readonly metrics: ConversationMetrics;
  readonly changed?: WorkerPorts['changed'];
}

export type AlertCode = 'worker_error' | 'inbox_overflow' | 'input_bus_backpressure' | 'egress_queue_full';
