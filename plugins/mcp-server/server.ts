import type { HttpService, StartHost } from 'mortise/sdk';
import type { AnonymousStreams } from './anonymous-streams.js';
import type { Config } from './config.generated.js';
import type { Features } from './method.js';
import type { Replicas } from './replicas.js';
import type { ClientRequests } from './sessions/client-requests.js';
import type { InFlight } from './sessions/in-flight.js';
import type { LeftAnswers } from './sessions/left-answers.js';
import type { SessionStore } from './sessions/session-store.js';
import type { SessionStreams } from './sessions/session-streams.js';
import type { Storage } from './storage.js';
import type { Subscriptions } from './subscriptions.js';
import type { Tasks } from './tasks/tasks.js';
import type { ToolListing } from './tools/listing.js';

/** The parts of the running endpoint, made once at start. */
export interface McpServer {
  readonly host: StartHost<Config>;
  readonly version: string;
  readonly http: HttpService;
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly listing: ToolListing;
  readonly sessions: SessionStore;
  readonly streams: SessionStreams;
  readonly anonymous: AnonymousStreams;
  readonly inFlight: InFlight;
  readonly clientRequests: ClientRequests;
  readonly leftAnswers: LeftAnswers;
  readonly subscriptions: Subscriptions;
  readonly tasks: Tasks;
  features(): Features;
  /** Signs interrupted requests; the same for all replicas. */
  signingKey(): Promise<Buffer>;
}
