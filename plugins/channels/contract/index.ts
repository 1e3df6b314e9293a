import type { CallContext, Contribution, Disposable, JsonObject, TransactionOption } from 'mortise/sdk';

/** The service `channels`: the configuration of every channel, changeable at run time. */
export interface ChannelsService {
  /** Names of the active channels, sorted. */
  types(): readonly string[];
  /** The declared defaults of a channel overlaid by the stored values, secrets in clear; undefined for an unknown channel. */
  config(name: string): JsonObject | undefined;
  /** The same with secrets masked. */
  masked(name: string): JsonObject | undefined;
  /**
   * Checks the configurations of an API body by channel name; a secret that is the mask of the stored one becomes the
   * stored one. Any other mask is kept as it is, or becomes empty.
   * @throws channel_not_supported, invalid_channel_config, invalid_json
   */
  parse(
    body: unknown,
    ctx: CallContext,
    options?: { readonly otherMasks: 'keep' | 'empty' },
  ): Promise<ReadonlyMap<string, JsonObject>>;
  /**
   * Replaces the stored configurations of all channels, in the caller's transaction if there is one. Channels without an
   * entry return to their defaults.
   */
  replaceAll(configs: ReadonlyMap<string, JsonObject>, ctx: CallContext, options?: TransactionOption): Promise<void>;
  /** Reads the changes of the caller's transaction. Await it after the commit, so that the next request sees them. */
  refresh(): Promise<unknown>;
  /** Calls after each change, on this or another replica. */
  onChange(run: () => void): Disposable;
}

/** The configuration to send with: that of the service, or the declared defaults without one. */
export function configOfChannel(
  { key, facts }: Pick<Contribution<'channel'>, 'key' | 'facts'>,
  channels: Pick<ChannelsService, 'config'> | undefined,
): JsonObject {
  return channels?.config(key) ?? { ...facts.defaults };
}

/** Whether a channel may be used: false only if its configuration has a flag `enabled` that is not true. */
export function isChannelEnabled({ enabled = true }: JsonObject): boolean {
  return enabled === true;
}

declare module 'mortise/sdk' {
  interface Services {
    channels: ChannelsService;
  }
}
