import type { CallContext } from '../context.js';
import type { JsonObject } from '../json.js';

export interface ChannelFacts {
  readonly title?: string;
  /** Default configuration; `enabled` decides whether a turn may use the channel. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** JSON Schema of the channel's configuration; `x-secret` members are masked. */
  readonly configSchema?: Readonly<Record<string, unknown>>;
}

export interface ChannelMessage {
  readonly userId: string;
  readonly sessionId: string;
  readonly text: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The same for every repeat of one send. */
  readonly deliveryId: string;
}

export interface Channel extends ChannelFacts {
  /** Resolves when the platform has accepted the text. Throws a coded error otherwise. */
  sendText(message: ChannelMessage, ctx: CallContext): Promise<void>;
  /**
   * The problem of a configuration that is about to be stored: a sentence without secrets; undefined when texts can be
   * sent with it, or only a member is missing that may be set later.
   */
  checkConfig?(config: JsonObject, ctx: CallContext): string | undefined | Promise<string | undefined>;
}
