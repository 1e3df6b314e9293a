import type { JsonObject } from 'mortise/sdk';
import { sendFailed } from './errors.js';

const targetTypes = ['c2c', 'group', 'guild'] as const;
export type TargetType = (typeof targetTypes)[number];

/** The account and endpoints of requests to QQ. */
export interface QqAccount {
  readonly appId: string;
  readonly clientSecret: string;
  readonly apiBase: URL;
  readonly tokenUrl: URL;
  /** Milliseconds for one request. */
  readonly timeoutMs: number;
}

/** Where a text goes. */
export interface QqTarget {
  readonly type: TargetType;
  readonly id: string;
  /** The message that is answered; empty for a message that answers none. */
  readonly messageId: string;
  /** Guild of a direct message within guilds; empty otherwise. */
  readonly directGuildId: string;
}

/** The part of the configuration that concerns received events. */
export interface InboundConfig {
  readonly enabled: boolean;
  readonly inboundEnabled: boolean;
  readonly clientSecret: string;
  readonly signature: 'auto' | 'required' | 'off';
  /** Undefined: the default intents. */
  readonly intents: number | undefined;
}

/** @throws channel_dispatch_failed */
export function readAccount(config: JsonObject): QqAccount {
  const { timeout_seconds: seconds } = config;
  const account = {
    appId: textOf(config.app_id),
    clientSecret: textOf(config.client_secret),
    apiBase: readUrl('api_base', config.api_base, 'https://api.sgroup.qq.com'),
    tokenUrl: readUrl('token_url', config.token_url, 'https://bots.qq.com/app/getAppAccessToken'),
    timeoutMs: typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, 30) * 1_000 : 8_000,
  };
  if (account.appId === '') throw sendFailed('channel qq requires config.app_id');
  if (account.clientSecret === '') throw sendFailed('channel qq requires config.client_secret');
  return account;
}

/**
 * The recipient of a text. The turn may have overridden that of the configuration.
 * @throws channel_dispatch_failed
 */
export function readTarget(config: JsonObject, userId: string): QqTarget {
  const given = textOf(config.target_type).toLowerCase() || 'c2c';
  const type = targetTypes.find((known) => known === given);
  if (!type) throw sendFailed('channel qq requires config.target_type to be c2c, group or guild');
  const directGuildId = type === 'guild' ? textOf(config.dm_guild_id) : '';
  const id = textOf(config.target_id) || (type === 'c2c' ? userId.trim() : directGuildId);
  if (id === '') throw sendFailed(`channel qq requires config.target_id for target_type "${type}"`);
  // A path segment of dots would address another endpoint.
  if ([id, directGuildId].some((one) => /^\.+$/.test(one) || !one.isWellFormed())) {
    throw sendFailed('channel qq requires config.target_id to be an id of QQ');
  }
  return { type, id, messageId: textOf(config.msg_id), directGuildId };
}

export function readInbound(config: JsonObject): InboundConfig {
  const { inbound_signature: signature, inbound_intents: intents } = config;
  return {
    enabled: config.enabled === true,
    inboundEnabled: config.inbound_enabled !== false,
    clientSecret: textOf(config.client_secret),
    signature: signature === 'required' || signature === 'off' ? signature : 'auto',
    intents: typeof intents === 'number' && Number.isSafeInteger(intents) && intents > 0 ? intents : undefined,
  };
}

/** The text of a member, without surrounding white space; empty for any other type. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function readUrl(member: string, value: unknown, otherwise: string): URL {
  const url = URL.parse(textOf(value) || otherwise);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw sendFailed(`channel qq requires config.${member} to be an http or https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw sendFailed(`channel qq requires config.${member} without credentials`);
  }
  return url;
}
