import type { StartHost } from 'mortise/sdk';
import { announceChanges } from './announce.js';
import { createAnonymousStreams } from './anonymous-streams.js';
import type { Config } from './config.generated.js';
import { createFeatures } from './features.js';
import { migrations } from './migrations.js';
import { createReplicas } from './replicas.js';
import type { McpServer } from './server.js';
import { createClientRequests } from './sessions/client-requests.js';
import { createInFlight } from './sessions/in-flight.js';
import { createLeftAnswers } from './sessions/left-answers.js';
import { createSessionStore } from './sessions/session-store.js';
import { createSessionStreams } from './sessions/session-streams.js';
import { readSigningKey } from './signing-key.js';
import { createStorage } from './storage.js';
import { createSubscriptions } from './subscriptions.js';
import { createTasks } from './tasks/tasks.js';
import { createToolListing } from './tools/listing.js';

/** Puts the endpoint together. A database that is away does not stop it: tools and lists need none. */
export async function startServer(host: StartHost<Config>): Promise<McpServer> {
  const schedule = host.use('schedule');
  const database = host.use('database');
  const now = () => schedule.now();
  const monotonic = () => schedule.monotonic();
  const storage = createStorage(database, migrations, host.log, monotonic);
  const replicas = createReplicas(database, host.use('instances').id, host.log);
  const sessions = createSessionStore({ storage, replicas, log: host.log, now });
  const streams = createSessionStreams(now);
  const clientRequests = createClientRequests();
  const leftAnswers = createLeftAnswers({ storage, replicas, requests: clientRequests, log: host.log, now });
  const inFlight = createInFlight();
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
    anonymous: createAnonymousStreams(),
    inFlight,
    clientRequests,
    leftAnswers,
    subscriptions: createSubscriptions(),
    tasks: createTasks(() => server),
    features: createFeatures(host.points),
    async signingKey() {
      key ??= storage.database().then((ready) => readSigningKey(ready, now()));
      try {
        return await key;
      } catch (error) {
        key = undefined;
        throw storage.explain(error);
      }
    },
  };
  sessions.onEnd((id) => {
    streams.drop(id);
    clientRequests.drop(id);
  });
  replicas.on('cancel', ({ id, request }) => void inFlight.cancel(id, request));
  replicas.on('answer', ({ id, request }) => void leftAnswers.deliver(id, request));
  await prepareDatabase(server);
  announceChanges(server);
  host.every(2_000, () => server.tasks.poll());
  host.every(2_000, () => leftAnswers.poll());
  host.every(60_000, () => sweep(server));
  host.on('shutdown', () => endStreams(server));
  return server;
}

/** Ends what would otherwise keep the process waiting for its clients. */
export function endStreams(server: McpServer): void {
  server.subscriptions.close();
  server.streams.close();
  server.anonymous.close();
}

async function prepareDatabase({ host, storage, replicas }: McpServer): Promise<void> {
  try {
    await storage.database();
    host.own(await replicas.listen());
  } catch (error) {
    host.log.warn({ err: error }, 'The MCP endpoint starts without its tables: sessions and tasks are not kept.');
  }
}

async function sweep(server: McpServer): Promise<void> {
  server.streams.sweep();
  await server.sessions.sweep();
  await server.leftAnswers.sweep();
  await server.tasks.sweep();
}
