import { createHash } from 'node:crypto';
import { sessionNameLimits, violatedNameRule } from 'mortise/contracts/sessions';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { qqError } from '../errors.js';
import { type TargetType, textOf } from '../qq-config.js';

/** A user's message, as a turn needs it. */
export interface QqEvent {
  /** Identifies repeated deliveries; undefined when QQ sent none. */
  readonly id: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  readonly text: string;
  /** Recipient of the answer: `biz_params.channel` of the turn. */
  readonly reply: {
    readonly target_type: TargetType;
    readonly target_id: string;
    readonly msg_id?: string;
    readonly dm_guild_id?: string;
  };
}

/** Why an event is not answered. */
type IgnoredReason = 'empty_text' | 'bot_author';

const typesOfEvents: Readonly<Record<string, TargetType>> = {
  C2C_MESSAGE_CREATE: 'c2c',
  GROUP_AT_MESSAGE_CREATE: 'group',
  AT_MESSAGE_CREATE: 'guild',
  DIRECT_MESSAGE_CREATE: 'guild',
};

const typesOfMessages: Readonly<Record<string, TargetType>> = {
  c2c: 'c2c',
  private: 'c2c',
  dm: 'c2c',
  direct: 'c2c',
  group: 'group',
  group_at: 'group',
  guild: 'guild',
  guild_channel: 'guild',
  channel: 'guild',
};

/** Whether an event of this name is a message. QQ also sends others, for example when a bot is added to a group. */
export function isMessageEvent(name: string): boolean {
  return Object.hasOwn(typesOfEvents, name.toUpperCase());
}

/** @throws invalid_qq_event */
export function readEvent(envelope: JsonObject): QqEvent | IgnoredReason {
  const payload = [envelope.d, envelope.data].find(isJsonObject) ?? envelope;
  const name = firstText(envelope, ['event', 'event_type', 'type', 't']).toUpperCase();
  const type =
    memberOf(typesOfEvents, name) ??
    memberOf(typesOfMessages, firstText(payload, ['message_type', 'target_type']).toLowerCase());
  if (!type) throw qqError('invalid_qq_event', { message: 'unsupported qq event type' });

  const author = objectOf(payload.author);
  if (author.bot === true) return 'bot_author';
  // PostgreSQL cannot store NUL characters and lone surrogates.
  const text = firstText(payload, ['content', 'text']).toWellFormed().replaceAll('\u0000', '').trim();
  if (text === '') return 'empty_text';

  const ownId = idText(payload.id);
  const { targetId, userId, sessionId } = partiesOf(type, payload, author);
  checkName('sender id', userId, sessionNameLimits.userId);
  checkName('session_id', sessionId, sessionNameLimits.sessionId);
  const guildId = name === 'DIRECT_MESSAGE_CREATE' ? idText(payload.guild_id) : '';
  return {
    id: ownId || idText(envelope.id) || undefined,
    userId,
    sessionId,
    text,
    reply: {
      target_type: type,
      target_id: targetId,
      ...(ownId !== '' && { msg_id: ownId }),
      ...(guildId !== '' && { dm_guild_id: guildId }),
    },
  };
}

interface Parties {
  readonly targetId: string;
  readonly userId: string;
  readonly sessionId: string;
}

function partiesOf(type: TargetType, payload: JsonObject, author: JsonObject): Parties {
  const sender = objectOf(payload.sender);
  const own = firstText(payload, ['session_id']);
  if (type === 'c2c') {
    const userId =
      firstId(author, ['user_openid', 'id']) ||
      firstId(sender, ['user_openid', 'id']) ||
      firstId(payload, ['user_openid', 'user_id']);
    if (userId === '') throw qqError('invalid_qq_event', { message: 'qq c2c event missing sender id' });
    const targetId = firstId(payload, ['target_id']) || userId;
    return { targetId, userId, sessionId: own || `qq:c2c:${targetId}` };
  }
  const targetId = firstId(
    payload,
    type === 'group' ? ['group_openid', 'target_id', 'group_id'] : ['channel_id', 'target_id'],
  );
  if (targetId === '') {
    const missing = type === 'group' ? 'group_openid' : 'channel_id';
    throw qqError('invalid_qq_event', { message: `qq ${type} event missing ${missing}` });
  }
  const userId =
    firstId(author, type === 'group' ? ['member_openid', 'user_openid', 'id'] : ['id', 'username']) ||
    firstId(sender, ['id']) ||
    firstId(payload, ['user_id']) ||
    targetId;
  return { targetId, userId, sessionId: own || `qq:${type}:${targetId}:${userId}` };
}

function checkName(member: string, value: string, limit: number): void {
  const rule = violatedNameRule(value, limit);
  if (rule !== undefined) throw qqError('invalid_qq_event', { message: `qq event: ${member} ${rule}` });
}

/** The key of a row: a hash, because QQ does not limit the length of its ids. */
export function keyOfEvent(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}

function memberOf<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function firstText(object: JsonObject, members: readonly string[]): string {
  return members.map((member) => textOf(object[member])).find((text) => text !== '') ?? '';
}

function firstId(object: JsonObject, members: readonly string[]): string {
  return members.map((member) => idText(object[member])).find((text) => text !== '') ?? '';
}

/** Some platforms send ids as numbers. */
function idText(value: unknown): string {
  return typeof value === 'number' && Number.isSafeInteger(value) ? `${value}` : textOf(value);
}
