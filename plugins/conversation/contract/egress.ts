import type { CallContext, Observation } from 'mortise/sdk';

export interface EgressFacts {
  readonly accepts?: readonly ('message' | 'alert')[];
  /** Milliseconds, 100 to 30,000; 1,000 when absent. */
  readonly timeoutMs?: number;
  /** Receives replies of sessions that nothing is bound to. */
  readonly default?: boolean;
  /** Receives the replies of all sessions, beside wherever else they go. */
  readonly everywhere?: boolean;
}

export interface Egress extends EgressFacts {
  send(observation: Observation, ctx: CallContext): Promise<void>;
}
