import type { ToolFacts } from 'mortise/sdk';

/** In code, because the manifest lists a pattern: without a key there is no tool, and nothing is missing. */
export const searchFacts: ToolFacts = {
  summary: 'Searches the web.',
  audience: ['agent'],
  capabilities: ['network', 'web_search'],
  timeoutSeconds: 1800,
  sideEffects: false,
  annotations: {
    readOnlyHint: true,
    openWorldHint: true,
  },
  inputSchema: {
    type: 'object',
    required: ['items'],
    additionalProperties: false,
    properties: {
      items: {
        type: 'array',
        minItems: 1,
        maxItems: 16,
        items: {
          type: 'object',
          required: ['query'],
          additionalProperties: false,
          properties: {
            query: {
              type: 'string',
              description: 'What to search for.',
              minLength: 1,
              maxLength: 2000,
            },
            provider: {
              type: 'string',
              description: 'serpapi, tavily or brave; the default one when absent.',
              maxLength: 64,
            },
            count: {
              type: 'number',
              description: 'Number of results; 5 when absent, at most 10.',
            },
            timeout_seconds: {
              type: 'number',
              description: 'Time limit in seconds; 20 when absent, at most 120.',
            },
          },
        },
      },
    },
  },
};
