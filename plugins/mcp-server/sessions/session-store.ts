import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database, JsonObject, Logger } from 'mortise/sdk';
import type { Replicas } from '../replicas.js';
import type { Storage } from '../storage.js';
import { RpcFailure } from '../wire/failure.js';
import type { LogLevel } from '../wire/protocol.js';
import type { Session } from './session.js';
import * as rows from './session.js';

export interface SessionStore {
  /** @throws RpcFailure when the row cannot be written. */
  open(principal: string, version: string, capabilities: JsonObject, clientInfo: JsonObject): Promise<Session>;
  /** @throws RpcFailure `SESSION_NOT_FOUND` for a session that is unknown, ended, or of another principal. */
  use(id: string, principal: string): Promise<Session>;
  setLogLevel(session: Session, level: LogLevel): Promise<void>;
  setSubscriptions(session: Session, uris: readonly string[]): Promise<void>;
  end(session: Session): Promise<void>;
  /** Whether a session subscribed to a resource. */
  isSubscribed(id: string, uri: string): Promise<boolean>;
  /** Deletes rows of expired sessions. */
  sweep(): Promise<void>;
  onEnd(run: (id: string) => void): void;
}

/** Milliseconds without a request after which a session expires. */
const idleMs = 86_400_000;
/** A cached session is read again after this many milliseconds, in case a signal of another replica was lost. */
const maxCacheAgeMs = 30_000;
/** The expiry is written at most this often, because each write costs a commit. */
const extendEveryMs = 600_000;
const maxCached = 10_000;

interface CachedSession {
  session: Session;
  readAt: number;
}

interface SessionStoreDeps {
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly log: Logger;
  now(): number;
}

/** Sessions are rows; those in use are cached. */
export function createSessionStore({ storage, replicas, log, now }: SessionStoreDeps): SessionStore {
  const cache = new LRUCache<string, CachedSession>({ max: maxCached });
  const onEnd: ((id: string) => void)[] = [];
  const remove = (id: string) => {
    cache.delete(id);
    for (const run of onEnd) run(id);
  };
  const store = (session: Session) => void cache.set(session.id, { session, readAt: now() });
  replicas.on('session', ({ id }) => {
    const cached = cache.get(id);
    if (cached) cached.readAt = 0;
  });

  const read = async (id: string): Promise<Session | undefined> => {
    const cached = cache.get(id);
    if (cached && now() - cached.readAt < maxCacheAgeMs && cached.session.expiresAt > now()) return cached.session;
    try {
      const session = await rows.findSession(await storage.database(), id, now());
      if (session) store(session);
      else remove(id);
      return session;
    } catch (error) {
      // While the database is unavailable, cached sessions stay valid.
      if (cached && cached.session.expiresAt > now()) return cached.session;
      throw storage.explain(error);
    }
  };
  const extend = (session: Session) => {
    const expiresAt = now() + idleMs;
    if (expiresAt - session.expiresAt < extendEveryMs) return;
    const cached = cache.get(session.id);
    if (cached) cached.session = { ...session, expiresAt };
    storage
      .database()
      .then((database) => rows.extendSession(database, session.id, expiresAt))
      .catch((error: unknown) => log.warn({ err: error }, 'The expiry of a session could not be extended.'));
  };
  const change = async (
    session: Session,
    changed: Partial<Session>,
    write: (database: Database) => Promise<void>,
  ): Promise<void> => {
    await storage.withDatabase(write);
    const cached = cache.get(session.id);
    if (cached) cached.session = { ...cached.session, ...changed };
    await replicas.notify({ kind: 'session', id: session.id });
  };

  return {
    async open(principal, version, capabilities, clientInfo) {
      const session: Session = {
        id: `mcps_${randomBytes(16).toString('hex')}`,
        principal,
        version,
        capabilities,
        logLevel: undefined,
        subscriptions: [],
        expiresAt: now() + idleMs,
      };
      await storage.withDatabase((database) => rows.insertSession(database, session, clientInfo, now()));
      store(session);
      return session;
    },
    async use(id, principal) {
      const session = await read(id);
      if (session === undefined || session.principal !== principal) {
        throw new RpcFailure(
          'SESSION_NOT_FOUND',
          'This session is unknown or has ended. Start a new one with initialize.',
        );
      }
      extend(session);
      return session;
    },
    setLogLevel: (session, logLevel) =>
      change(session, { logLevel }, (database) => rows.storeLogLevel(database, session.id, logLevel)),
    setSubscriptions: (session, subscriptions) =>
      change(session, { subscriptions }, (database) => rows.storeSubscriptions(database, session.id, subscriptions)),
    async end(session) {
      await change(session, {}, (database) => rows.deleteSession(database, session.id));
      remove(session.id);
    },
    isSubscribed: async (id, uri) => {
      const session = await read(id).catch(() => undefined);
      return session?.subscriptions.includes(uri) === true;
    },
    sweep: async () => rows.deleteExpiredSessions(await storage.database(), now()),
    onEnd: (run) => void onEnd.push(run),
  };
}
