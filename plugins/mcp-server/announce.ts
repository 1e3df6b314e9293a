import type { McpServer } from './server.js';
import { standingStream } from './sessions/session-streams.js';
import type { SubscriptionFilter } from './subscriptions.js';
import { notificationText } from './wire/message.js';

/** Tells clients of every kind when lists or resources change. */
export function announceChanges(server: McpServer): void {
  const { host, listing } = server;
  host.own(listing.onChange(() => listChanged(server, 'tools', 'toolsListChanged')));
  host.points.onChange('mcp-prompt', () => listChanged(server, 'prompts', 'promptsListChanged'));
  host.points.onChange('mcp-resource', () => listChanged(server, 'resources', 'resourcesListChanged'));
  host.on('mcp-resource-updated', async ({ uri }) => {
    await Promise.all([resourceUpdated(server, uri), server.replicas.tell({ kind: 'resource', uri })]);
  });
  server.replicas.on('resource', ({ uri }) => void resourceUpdated(server, uri));
  server.replicas.on('task', ({ id }) => void server.tasks.follow(id));
}

function listChanged(server: McpServer, list: string, wanted: keyof SubscriptionFilter): void {
  const method = `notifications/${list}/list_changed`;
  const json = notificationText(method);
  server.streams.announce(json);
  server.anonymous.announce(json);
  server.subscriptions.announce(method, {}, ({ filter }) => filter[wanted] === true);
}

async function resourceUpdated(server: McpServer, uri: string): Promise<void> {
  const method = 'notifications/resources/updated';
  server.subscriptions.announce(method, { uri }, ({ filter }) => filter.resourceSubscriptions?.includes(uri) === true);
  const json = notificationText(method, { uri });
  for (const id of server.streams.sessions()) {
    if (await server.sessions.hears(id, uri)) server.streams.publish(id, standingStream, json);
  }
}
