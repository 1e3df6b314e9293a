import type { CallContext } from '../context.js';
import type { Observation } from '../observation.js';
import type { ExtensionPointDeclaration } from './point.js';

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

export const egressPoint: ExtensionPointDeclaration = {
  name: 'egress',
  summary: 'Ways out for replies; each with its own queue.',
  dispatch: 'selected',
  factsSchema: {
    type: 'object',
    properties: {
      accepts: { type: 'array', items: { enum: ['message', 'alert'] } },
      timeoutMs: { type: 'integer', minimum: 100, maximum: 30_000 },
      default: { type: 'boolean' },
      everywhere: { type: 'boolean' },
    },
  },
  functions: ['send'],
  timeoutMs: 1_000,
  failure: 'one warning and a pain alert; the other adapters are untouched',
};
