import { type Database, isJsonObject, type JsonObject } from 'mortise/sdk';
import { isLogLevel, type LogLevel } from '../wire/protocol.js';

/** A client that began with `initialize`. */
export interface Session {
  readonly id: string;
  /** The principal that opened it; others cannot use it. */
  readonly principal: string;
  readonly version: string;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  /** URIs of resources whose changes are announced to the client. */
  readonly subscriptions: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

const ownId = /^mcps_[0-9a-f]{32}$/;

/** Whether a header value is an id that this endpoint issues; any other value is only a label for logs. */
export function isOwnSessionId(value: string | undefined): value is string {
  return value !== undefined && ownId.test(value);
}

interface SessionRow {
  readonly id: string;
  readonly principal: string;
  readonly protocol_version: string;
  readonly capabilities: string;
  readonly log_level: string | null;
  readonly subscriptions: string;
  readonly expires_at: number;
}

function sessions(database: Database) {
  return database.query()(database.table('logbook.mcp_sessions'));
}

export async function insertSession(
  database: Database,
  session: Session,
  clientInfo: JsonObject,
  now: number,
): Promise<void> {
  const { codec } = database;
  await sessions(database).insert({
    id: session.id,
    principal: session.principal,
    protocol_version: session.version,
    client_info: codec.json(clientInfo),
    capabilities: codec.json(session.capabilities),
    subscriptions: codec.json([]),
    created_at: now,
    expires_at: session.expiresAt,
  });
}

export async function findSession(database: Database, id: string, now: number): Promise<Session | undefined> {
  // On the path of every call whose session is not cached.
  const { rows } = await database.statement<SessionRow>(
    `select id, principal, protocol_version, capabilities, log_level, subscriptions, expires_at
       from {logbook.mcp_sessions} where id = ? and expires_at > ?`,
    [id, now],
  );
  const row = rows[0];
  if (!row) return undefined;
  const capabilities = database.codec.parseJson(row.capabilities);
  const subscriptions = database.codec.parseJson(row.subscriptions);
  return {
    id: row.id,
    principal: row.principal,
    version: row.protocol_version,
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    logLevel: isLogLevel(row.log_level) ? row.log_level : undefined,
    subscriptions: Array.isArray(subscriptions) ? subscriptions.map(String) : [],
    expiresAt: Number(row.expires_at),
  };
}

/** Extends a session; never shortens it. */
export async function extendSession(database: Database, id: string, expiresAt: number): Promise<void> {
  await sessions(database).where({ id }).where('expires_at', '<', expiresAt).update({ expires_at: expiresAt });
}

export async function storeLogLevel(database: Database, id: string, level: string): Promise<void> {
  await sessions(database).where({ id }).update({ log_level: level });
}

export async function storeSubscriptions(database: Database, id: string, uris: readonly string[]): Promise<void> {
  await sessions(database)
    .where({ id })
    .update({ subscriptions: database.codec.json(uris) });
}

export async function deleteSession(database: Database, id: string): Promise<void> {
  await sessions(database).where({ id }).delete();
}

export async function deleteExpiredSessions(database: Database, now: number): Promise<void> {
  await sessions(database).where('expires_at', '<=', now).delete();
}
