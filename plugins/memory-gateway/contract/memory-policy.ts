import type { CallContext } from 'mortise/sdk';

/** The tools that ask: what they keep can be refused, or with `memory_store` sent to another space. */
export const memoryPolicyTools = ['memory_store', 'evidence_upload'] as const;

export type MemoryPolicyTool = (typeof memoryPolicyTools)[number];

export interface MemoryPolicyFacts {
  /** Lower first; equal orders by key. */
  readonly order: number;
  /** Tools it looks at. */
  readonly tools: readonly MemoryPolicyTool[];
}

export interface MemoryPolicyRequest {
  readonly tool: MemoryPolicyTool;
  readonly actorUserId: string | null;
  /** Of evidence: `evidence:<project>`. */
  readonly requestedSpace: string;
  readonly targetSpace: string;
  readonly kind: string | null;
  /** The text; of evidence its bytes as UTF-8. */
  readonly content: string;
  /** Of evidence: `content_type`, and `title` where it has one. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
}

export type MemoryPolicyVerdict =
  | { readonly kind: 'pass' }
  /** Evidence has no other place to go: there it is a reject. */
  | { readonly kind: 'redirect'; readonly space: string; readonly reason: string; readonly message: string }
  | { readonly kind: 'reject'; readonly reason: string; readonly message: string };

export interface MemoryPolicy extends MemoryPolicyFacts {
  run(request: MemoryPolicyRequest, ctx: CallContext): MemoryPolicyVerdict | Promise<MemoryPolicyVerdict>;
}
