import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

export interface MemoryPolicyFacts {
  /** Lower first; equal orders by key. */
  readonly order: number;
  /** Tools it looks at: `memory_store`, `evidence_upload`, … */
  readonly tools: readonly string[];
}

export interface MemoryPolicyRequest {
  readonly tool: string;
  readonly actorUserId: string | null;
  readonly requestedSpace: string;
  readonly targetSpace: string;
  readonly kind: string | null;
  readonly content: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
}

export type MemoryPolicyVerdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'redirect'; readonly space: string; readonly reason: string; readonly message: string }
  | { readonly kind: 'reject'; readonly reason: string; readonly message: string };

export interface MemoryPolicy extends MemoryPolicyFacts {
  run(request: MemoryPolicyRequest, ctx: CallContext): MemoryPolicyVerdict | Promise<MemoryPolicyVerdict>;
}

export const memoryPolicyPoint: ExtensionPointDeclaration = {
  name: 'memory-policy',
  summary: 'Further checks of a memory before the policy; in order.',
  dispatch: 'ordered',
  factsSchema: {
    type: 'object',
    required: ['order', 'tools'],
    properties: { order: { type: 'integer' }, tools: { type: 'array', items: { type: 'string' } } },
  },
  functions: ['run'],
  timeoutMs: 1_000,
  failure: 'a throw is a reject',
};
