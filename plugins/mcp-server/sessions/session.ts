import type { LogLevel } from '../tools/tool-log.js';
import type { JsonObject } from '../wire/json.js';

/** A client that began with `initialize`. */
export interface Session {
  readonly id: string;
  /** Principal that opened it; nobody else may use it. */
  readonly principal: string;
  readonly version: string;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  /** Resources whose changes the client wants to hear of. */
  readonly subscriptions: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Ids of our making; any other value of the header is a label for logs. */
const ownId = /^mcps_[0-9a-f]{32}$/;

export function isOwnSessionId(value: string | undefined): value is string {
  return value !== undefined && ownId.test(value);
}

/** Milliseconds without a request after which a session is over. */
export const idleMs = 86_400_000;
