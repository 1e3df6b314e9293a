import { randomBytes } from 'node:crypto';
import type { Logger } from 'mortise/sdk';
import type { Replicas } from '../replicas.js';
import type { Storage } from '../storage.js';
import type { LogLevel } from '../tools/tool-log.js';
import { RpcFailure } from '../wire/failure.js';
import type { JsonObject } from '../wire/json.js';
import * as rows from './rows.js';
import { idleMs, type Session } from './session.js';

export interface SessionStore {
  /** @throws RpcFailure when the row cannot be written. */
  open(principal: string, version: string, capabilities: JsonObject, clientInfo: JsonObject): Promise<Session>;
  /** @throws RpcFailure `SESSION_NOT_FOUND` for one that is unknown, over, or another principal's. */
  use(id: string, principal: string): Promise<Session>;
  setLogLevel(session: Session, level: LogLevel): Promise<void>;
  setSubscriptions(session: Session, uris: readonly string[]): Promise<void>;
  end(session: Session): Promise<void>;
  /** Whether a session that streams here wants to hear of a resource. */
  hears(id: string, uri: string): Promise<boolean>;
  /** Removes rows of sessions that are over. */
  sweep(): Promise<void>;
  onEnd(run: (id: string) => void): void;
}

/** A session is read again after this many milliseconds, should a hint of another replica have been lost. */
const trustMs = 30_000;
/** Writing the end of an idle session anew with every call would cost a commit each. */
const prolongEveryMs = 600_000;
const mostRemembered = 10_000;

interface Remembered {
  session: Session;
  readAt: number;
}

export interface SessionStorePorts {
  readonly storage: Storage;
  readonly replicas: Replicas;
  readonly log: Logger;
  now(): number;
}

/** Sessions are rows; the busy ones are remembered. */
export function createSessionStore({ storage, replicas, log, now }: SessionStorePorts): SessionStore {
  const remembered = new Map<string, Remembered>();
  const onEnd: ((id: string) => void)[] = [];
  const forget = (id: string) => {
    remembered.delete(id);
    for (const run of onEnd) run(id);
  };
  const remember = (session: Session) => {
    remembered.delete(session.id);
    remembered.set(session.id, { session, readAt: now() });
    if (remembered.size > mostRemembered) remembered.delete(remembered.keys().next().value as string);
  };
  replicas.on('session', ({ id }) => {
    const known = remembered.get(id);
    if (known) known.readAt = 0;
  });

  const read = async (id: string): Promise<Session | undefined> => {
    const known = remembered.get(id);
    if (known && now() - known.readAt < trustMs && known.session.expiresAt > now()) return known.session;
    try {
      const session = await rows.findSession(await storage.database(), id, now());
      if (session) remember(session);
      else forget(id);
      return session;
    } catch (error) {
      // While the database is away, what is remembered goes on.
      if (known && known.session.expiresAt > now()) return known.session;
      throw storage.explain(error);
    }
  };
  const prolong = (session: Session) => {
    const expiresAt = now() + idleMs;
    if (expiresAt - session.expiresAt < prolongEveryMs) return;
    const known = remembered.get(session.id);
    if (known) known.session = { ...session, expiresAt };
    storage
      .database()
      .then((database) => rows.prolongSession(database, session.id, expiresAt))
      .catch((error: unknown) => log.warn({ err: error }, 'A session could not be prolonged.'));
  };
  const change = async (session: Session, write: () => Promise<void>, next: Partial<Session>) => {
    try {
      await write();
    } catch (error) {
      throw storage.explain(error);
    }
    const known = remembered.get(session.id);
    if (known) known.session = { ...known.session, ...next };
    await replicas.tell({ kind: 'session', id: session.id });
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
      try {
        await rows.insertSession(await storage.database(), session, clientInfo, now());
      } catch (error) {
        throw storage.explain(error);
      }
      remember(session);
      return session;
    },
    async use(id, principal) {
      const session = await read(id);
      if (session === undefined || session.principal !== principal) {
        throw new RpcFailure('SESSION_NOT_FOUND', 'This session is unknown or over. Begin a new one with initialize.');
      }
      prolong(session);
      return session;
    },
    setLogLevel: (session, logLevel) =>
      change(session, async () => rows.storeLogLevel(await storage.database(), session.id, logLevel), { logLevel }),
    setSubscriptions: (session, subscriptions) =>
      change(session, async () => rows.storeSubscriptions(await storage.database(), session.id, subscriptions), {
        subscriptions,
      }),
    async end(session) {
      await change(session, async () => rows.deleteSession(await storage.database(), session.id), {});
      forget(session.id);
    },
    hears: async (id, uri) => {
      const session = await read(id).catch(() => undefined);
      return session?.subscriptions.includes(uri) === true;
    },
    sweep: async () => rows.deleteExpiredSessions(await storage.database(), now()),
    onEnd: (run) => void onEnd.push(run),
  };
}
