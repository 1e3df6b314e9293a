import type { TurnService } from 'mortise/contracts/agent';
import type { ConversationService } from 'mortise/contracts/conversation';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { CallContext, HttpService, Points, SchemasService } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import type { Json } from './json.js';
import type { LiveSend, LiveSends } from './live-sends.js';
import type { Watcher, Watchers } from './watchers.js';

/** What all sockets of the process share. */
export interface RealtimeParts {
  readonly config: Config;
  readonly sessions: SessionsService;
  readonly conversation: ConversationService;
  /** Undefined while no agent runs. */
  readonly turns: () => TurnService | undefined;
  readonly http: HttpService;
  readonly points: Points;
  readonly schemas: SchemasService;
  readonly live: LiveSends;
  readonly watchers: Watchers;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** One request of a socket. */
export interface MethodCall {
  readonly id: string;
  /** Ends when the socket is gone, the request was cancelled or the process stops. */
  readonly controller: AbortController;
  readonly ctx: CallContext;
  readonly socket: CallingSocket;
}

export interface CallingSocket extends Watcher {
  send(id: string, frame: object): void;
  delta(id: string, text: string): void;
  /** The turn is this socket's own. */
  own(turnId: string): void;
  /** A request for a turn of this socket. */
  sending(requestId: string): LiveSend | undefined;
  begin(send: LiveSend): void;
  end(send: LiveSend): void;
  /** @returns false when it watches too many sessions already. */
  watch(sessionKey: string): boolean;
  unwatch(sessionKey: string): void;
}

/**
 * Answers a request: with the data of its response, or with undefined when it has sent its last frame itself. What it
 * throws becomes the error frame.
 */
export type Method = (params: Json, call: MethodCall, parts: RealtimeParts) => Promise<object | undefined>;
