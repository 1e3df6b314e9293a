import type { McpContext } from './mcp-content.js';

export interface McpResourceFacts {
  readonly uri?: string;
  readonly uriTemplate?: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Emits the host event `mcp-resource-updated`, so clients may subscribe to it. */
  readonly subscribe?: boolean;
}

export interface McpResource extends McpResourceFacts {
  /** @throws MortiseError `resource_not_found` when a template matches but nothing is there. */
  read(uri: string, ctx: McpContext): Promise<readonly Readonly<Record<string, unknown>>[]>;
}
