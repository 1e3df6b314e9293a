import type { CallContext } from 'mortise/sdk';

/** Context of a resource or prompt. Its functions are absent where the client cannot be asked. */
export interface McpContext extends CallContext {
  requireInput?(request: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  /** @throws RpcFailure `MISSING_CLIENT_CAPABILITY` when the client did not declare it. */
  requireCapability?(capability: string): void;
}

export interface McpResourceFacts {
  readonly uri?: string;
  /** RFC 6570 level 1 or 2. */
  readonly uriTemplate?: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Emits the host event `mcp-resource-updated`, so clients may subscribe to it. */
  readonly subscribe?: boolean;
}

export interface McpResource extends McpResourceFacts {
  /** @throws MortiseError `resource_not_found` when a template matches but the resource does not exist. */
  read(uri: string, ctx: McpContext): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface McpPromptFacts {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface McpPrompt extends McpPromptFacts {
  get(args: Readonly<Record<string, string>>, ctx: McpContext): Promise<Readonly<Record<string, unknown>>>;
}

export interface McpCompletionFacts {
  /** The prompt or resource template whose arguments it completes. */
  readonly ref: { readonly type: 'ref/prompt' | 'ref/resource'; readonly name?: string; readonly uri?: string };
}

export interface McpCompletion extends McpCompletionFacts {
  /** `context`: arguments that the client has already resolved. */
  complete(
    argument: {
      readonly name: string;
      readonly value: string;
      readonly context?: Readonly<Record<string, string>>;
    },
    ctx: CallContext,
  ): Promise<readonly string[]>;
}
