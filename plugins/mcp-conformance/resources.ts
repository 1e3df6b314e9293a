import type { McpResource } from 'mortise/contracts/mcp-server';
import { png } from './tool.js';

/** The resource that clients may subscribe to. */
export const watchedUri = 'test://watched-resource';

/** Resources by contribution key. */
export const resources: Readonly<Record<string, McpResource>> = {
  'static-text': {
    uri: 'test://static-text',
    name: 'Static text',
    description: 'A text that never changes.',
    mimeType: 'text/plain',
    read: async (uri) => [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  },
  'static-binary': {
    uri: 'test://static-binary',
    name: 'Static image',
    description: 'An image that never changes.',
    mimeType: 'image/png',
    read: async (uri) => [{ uri, mimeType: 'image/png', blob: png }],
  },
  'watched-resource': {
    uri: watchedUri,
    name: 'Watched text',
    description: 'A text that clients may subscribe to.',
    mimeType: 'text/plain',
    subscribe: true,
    read: async (uri) => [{ uri, mimeType: 'text/plain', text: 'Nothing has happened yet.' }],
  },
  template: {
    uriTemplate: 'test://template/{id}/data',
    name: 'Data by id',
    description: 'One resource for each id.',
    mimeType: 'application/json',
    read: async (uri) => {
      const id = decodeURIComponent(/^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1] ?? '');
      const data = { id, templateTest: true, data: `Data for ID: ${id}` };
      return [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }];
    },
  },
};
