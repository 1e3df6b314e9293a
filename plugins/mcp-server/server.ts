import type { HttpService, StartHost } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { createSessionStreams, getStream, type SessionStreams, stoppingText } from './event-streams.js';
import { createFeatures, type Features } from './features.js';
import { migrations } from './migrations.js';
import { createReplicas, type Replicas } from './replicas.js';
import { type AnswerRelay, createAnswerRelay } from './sessions/answer-relay.js';
import { type ClientRequests, createClientRequests, createInFlight, type InFlight } from './sessions/open-requests.js';
import { createSessionStore, type SessionStore } from './sessions/session-store.js';
import { createSseConnections, type SseConnections } from './sse-connections.js';
import { createStorage, readSigningKey, type Storage } from './storage.js';
import { createSubscriptions, type SubscriptionFilter, type Subscriptions } from './subscriptions.js';
import { createTasks, type Tasks } from './tasks/tasks.js';
import { createToolListing, type ToolListing } from './tools/listing.js';
import { notificationText } from './wire/message.js';

/** The running endpoint, created at start. */
export interface McpServer {
  readonly host: StartHost<Config>;
  readonly version: string;
  readonly http: HttpService;
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly listing: ToolListing;
  readonly sessions: SessionStore;
  readonly streams: SessionStreams;
  readonly connections: SseConnections;
  readonly inFlight: InFlight;
  readonly clientRequests: ClientRequests;
  readonly answerRelay: AnswerRelay;
  readonly subscriptions: Subscriptions;
  readonly tasks: Tasks;
  features(): Features;
  /** Signs interrupted requests; the same for all replicas. */
  signingKey(): Promise<Buffer>;
}

/** Starts the endpoint, also while the database is unavailable: tools and lists do not need it. */
export async function startServer(host: StartHost<Config>): Promise<McpServer> {
  const schedule = host.use('schedule');
  const database = host.use('database');
  const instances = host.use('instances');
  const { log } = host;
  const now = () => schedule.now();
  const storage = createStorage(database, migrations, log, () => schedule.monotonic());
  const replicas = createReplicas(database, instances.id, log);
  const sessions = createSessionStore({ storage, replicas, log, now });
  const streams = createSessionStreams(now);
  const clientRequests = createClientRequests();
  const answerRelay = createAnswerRelay({ storage, replicas, requests: clientRequests, log, now });
  const inFlight = createInFlight();
  const subscriptions = createSubscriptions();
  const tasks = createTasks({ storage, replicas, subscriptions, instances, log, now });
  let key: Promise<Buffer> | undefined;
  const server: McpServer = {
    host,
    version: host.use('settings').version,
    http: host.use('http'),
    storage,
    replicas,
    listing: host.own(
      createToolListing(host.points, {
        order: host.config.order,
        extra: host.config.tools,
        disabled: host.config.disabledTools,
        schemas: host.use('schemas'),
      }),
    ),
    sessions,
    streams,
    connections: createSseConnections(),
    inFlight,
    clientRequests,
    answerRelay,
    subscriptions,
    tasks,
    features: createFeatures(host.points),
    async signingKey() {
      key ??= storage.withDatabase((ready) => readSigningKey(ready, now()));
      try {
        return await key;
      } catch (error) {
        key = undefined;
        throw error;
      }
    },
  };
  sessions.onEnd((id) => {
    streams.drop(id);
    clientRequests.drop(id);
  });
  replicas.on('cancel', ({ id, request }) => void inFlight.cancel(id, request));
  replicas.on('answer', ({ id, request }) => void answerRelay.deliver(id, request));
  await prepareDatabase(server);
  announceChanges(server);
  host.every(2_000, () => tasks.poll());
  host.every(2_000, () => answerRelay.poll());
  host.every(60_000, () => sweep(server));
  host.on('shutdown', () => endStandingStreams(server));
  host.on('plugin-state', ({ key, to }) => {
    if (key === host.key && to === 'draining') endStandingStreams(server, stoppingText);
  });
  return server;
}

/**
 * Ends the streams that stay open as long as their client, which a shutdown or the end of the plugin would wait for.
 * `last` is their last event. Streams of responses stay open: calls that were accepted are answered within the time that is left.
 */
function endStandingStreams(server: McpServer, last?: string): void {
  server.subscriptions.close();
  server.streams.endStanding(last);
  server.connections.finish(last);
}

/** Ends everything that runs, when the plugin stops. */
export async function closeServer(server: McpServer): Promise<void> {
  endStandingStreams(server);
  server.streams.close();
  server.connections.close();
  server.clientRequests.close();
  await server.tasks.close();
}

async function prepareDatabase({ host, storage, replicas }: McpServer): Promise<void> {
  try {
    await storage.database();
    host.own(await replicas.listen());
  } catch (error) {
    host.log.warn({ err: error }, 'The MCP endpoint starts without its tables: sessions and tasks are not stored.');
  }
}

async function sweep(server: McpServer): Promise<void> {
  server.streams.sweep();
  await server.sessions.sweep();
  await server.answerRelay.sweep();
  await server.tasks.sweep();
}

/** Notifies all clients of changed lists, and subscribed ones of changed resources and tasks. */
function announceChanges(server: McpServer): void {
  const { host, listing, replicas } = server;
  host.own(listing.onChange(() => listChanged(server, 'tools', 'toolsListChanged')));
  host.points.onChange('mcp-prompt', () => listChanged(server, 'prompts', 'promptsListChanged'));
  host.points.onChange('mcp-resource', () => listChanged(server, 'resources', 'resourcesListChanged'));
  host.on('mcp-resource-updated', async ({ uri }) => {
    await Promise.all([resourceUpdated(server, uri), replicas.notify({ kind: 'resource', uri })]);
  });
  replicas.on('resource', ({ uri }) => void resourceUpdated(server, uri));
  replicas.on('task', ({ id }) => void server.tasks.follow(id));
}

function listChanged(server: McpServer, list: string, subscribed: keyof SubscriptionFilter): void {
  const method = `notifications/${list}/list_changed`;
  const json = notificationText(method);
  server.streams.announce(json);
  server.connections.announce(json);
  server.subscriptions.announce(method, {}, ({ filter }) => filter[subscribed] === true);
}

async function resourceUpdated(server: McpServer, uri: string): Promise<void> {
  const method = 'notifications/resources/updated';
  server.subscriptions.announce(method, { uri }, ({ filter }) => filter.resourceSubscriptions?.includes(uri) === true);
  const json = notificationText(method, { uri });
  const sendTo = async (session: string, send: () => void) => {
    if (await server.sessions.isSubscribed(session, uri)) send();
  };
  await Promise.all([
    ...server.streams.sessions().map((id) => sendTo(id, () => server.streams.publish(id, getStream, json))),
    ...[...server.connections.all()].map(({ session, send }) => session && sendTo(session, () => send(json))),
  ]);
}
