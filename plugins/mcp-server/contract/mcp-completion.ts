import type { CallContext } from 'mortise/sdk';

export interface McpCompletionFacts {
  /** The prompt or resource template whose arguments it completes. */
  readonly ref: { readonly type: 'ref/prompt' | 'ref/resource'; readonly name?: string; readonly uri?: string };
}

export interface McpCompletion extends McpCompletionFacts {
  /** `context`: arguments that the client has resolved already. */
  complete(
    argument: {
      readonly name: string;
      readonly value: string;
      readonly context?: Readonly<Record<string, string>>;
    },
    ctx: CallContext,
  ): Promise<readonly string[]>;
}
