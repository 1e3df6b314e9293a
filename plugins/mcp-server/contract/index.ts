import type { McpCompletion, McpCompletionFacts } from './mcp-completion.js';
import type { McpPrompt, McpPromptFacts } from './mcp-prompt.js';
import type { McpResource, McpResourceFacts } from './mcp-resource.js';

export * from './mcp-completion.js';
export * from './mcp-content.js';
export * from './mcp-prompt.js';
export * from './mcp-resource.js';

declare module 'mortise/sdk' {
  interface ExtensionPoints {
    'mcp-completion': McpCompletion;
    'mcp-prompt': McpPrompt;
    'mcp-resource': McpResource;
  }
  interface ExtensionPointFacts {
    'mcp-completion': McpCompletionFacts;
    'mcp-prompt': McpPromptFacts;
    'mcp-resource': McpResourceFacts;
  }
  interface HostEvents {
    /** Content behind a subscribable MCP resource has changed. */
    'mcp-resource-updated': { readonly uri: string };
  }
}
