import { type SessionRef, sessionKey } from 'mortise/contracts/sessions';
import type { Database, Logger } from 'mortise/sdk';
import { GroupedWrites } from './grouped-writes.js';

/** What every statement of the store needs. */
export interface Store {
  readonly database: Database;
  /** Written into leases and turns; the instance id of this process. */
  readonly owner: string;
  /** Transactions on the path of every turn. */
  readonly writes: GroupedWrites;
  readonly log: Pick<Logger, 'warn'>;
}

export function openStore(database: Database, owner: string, log: Store['log']): Store {
  return { database, owner, writes: new GroupedWrites(database), log };
}

/** A session with its key computed once. */
export interface Session extends SessionRef {
  readonly key: string;
}

export function asSession(ref: SessionRef): Session {
  return { channel: ref.channel, userId: ref.userId, sessionId: ref.sessionId, key: sessionKey(ref) };
}

/** A held lease: the token fences every write, the epoch is its public number. */
export interface Lease {
  readonly key: string;
  readonly token: string;
  readonly epoch: number;
}
