import type { TurnService } from 'mortise/contracts/agent';
import type { ConversationService } from 'mortise/contracts/conversation';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { CallContext, ContributionCache, HttpService, JsonObject, Points, ValueSchema } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import type { LiveSend, LiveSends } from './live-sends.js';
import type { Watcher, Watchers } from './pushes.js';

/** What all sockets of the process share. */
export interface RealtimeDeps {
  readonly config: Config;
  readonly sessions: SessionsService;
  readonly conversation: ConversationService;
  /** Undefined while no agent runs. */
  readonly turns: () => TurnService | undefined;
  readonly http: HttpService;
  readonly points: Points;
  /** The schemas of contributed methods by name, each compiled on first use. */
  readonly pluginMethods: ContributionCache<ReadonlyMap<string, () => ValueSchema>>;
  readonly live: LiveSends;
  readonly watchers: Watchers;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** One request of a socket. */
export interface MethodCall {
  readonly id: string;
  /** Aborted when the socket is gone, the request was cancelled or the process stops. */
  readonly controller: AbortController;
  readonly ctx: CallContext;
  readonly socket: CallingSocket;
}

export interface CallingSocket extends Watcher {
  send(id: string, frame: object): void;
  delta(id: string, text: string): void;
  /** Remembers a turn that this socket requested. */
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
export type Method = (params: JsonObject, call: MethodCall, deps: RealtimeDeps) => Promise<object | undefined>;
