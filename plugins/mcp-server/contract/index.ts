import type {
  McpCompletion,
  McpCompletionFacts,
  McpPrompt,
  McpPromptFacts,
  McpResource,
  McpResourceFacts,
} from './points.js';

export * from './mcp-content.js';
export * from './points.js';

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
