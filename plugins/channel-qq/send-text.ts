import { type ChannelMessage, type GuardedFetch, isBlankText, type JsonObject } from 'mortise/sdk';
import type { AccessTokens } from './access-tokens.js';
import { sendFailed, storing } from './errors.js';
import type { MessageSequence } from './message-sequence.js';
import { askPlatform, type PlatformAnswer, refusalText } from './platform-request.js';
import { type QqAccount, type QqTarget, readAccount, readTarget } from './qq-config.js';

interface SendDeps {
  readonly fetch: GuardedFetch;
  readonly tokens: AccessTokens;
  readonly sequence: MessageSequence;
}

/** Codes of QQ for a token that is unknown or expired, like status 401. */
const tokenCodes = [11_243, 11_244];
/** QQ has already accepted a message with this `msg_seq`. */
const repeatedMessage = 40_054_005;

/**
 * Sends a text as one or more messages, in order.
 * @throws channel_dispatch_failed, network_denied
 */
export async function sendText(deps: SendDeps, message: ChannelMessage, signal: AbortSignal): Promise<void> {
  const { config, userId, text, deliveryId } = message;
  const account = readAccount(config);
  const target = readTarget(config, userId);
  if (isBlankText(text)) throw sendFailed('channel qq cannot send an empty text');
  const prefix = typeof config.bot_prefix === 'string' ? config.bot_prefix : '';
  const parts = splitText(`${prefix}${text.toWellFormed()}`);
  const { appId } = account;
  const numbered = target.type !== 'guild';
  const first = numbered
    ? await storing(() => deps.sequence.reserve(target, { appId, deliveryId, count: parts.length }))
    : 0;
  for (const [index, content] of parts.entries()) {
    const body = {
      content,
      ...(numbered && { msg_type: 0, msg_seq: first + index }),
      ...(target.messageId !== '' && { msg_id: target.messageId }),
    };
    await post(deps, { account, url: urlOf(account, target), body, isRepeatable: numbered }, signal);
  }
}

function urlOf({ apiBase }: QqAccount, { type, id, directGuildId }: QqTarget): URL {
  const path = {
    c2c: `/v2/users/${encodeURIComponent(id)}/messages`,
    group: `/v2/groups/${encodeURIComponent(id)}/messages`,
    guild: directGuildId === '' ? `/channels/${encodeURIComponent(id)}/messages` : directPath(directGuildId),
  }[type];
  return new URL(`${apiBase.href.replace(/\/+$/, '')}${path}`);
}

/** Direct messages of guilds are not delivered through the route of channels. */
function directPath(guildId: string): string {
  return `/dms/${encodeURIComponent(guildId)}/messages`;
}

interface Post {
  readonly account: QqAccount;
  readonly url: URL;
  readonly body: JsonObject;
  readonly isRepeatable: boolean;
}

/** Posts one message; once more with a new token when QQ no longer accepts the cached one. */
async function post({ fetch, tokens }: SendDeps, { account, ...request }: Post, signal: AbortSignal): Promise<void> {
  const api = 'message API';
  for (let isFirst = true; ; isFirst = false) {
    const token = await tokens.get(account, signal);
    const headers = { authorization: `QQBot ${token}`, 'x-union-appid': headerText(account.appId) };
    const { timeoutMs } = account;
    const answer = await askPlatform(fetch, { api, method: 'POST', headers, timeoutMs, ...request }, signal);
    if (answer.status >= 200 && answer.status < 300) return;
    if (answer.body.code === repeatedMessage || answer.body.err_code === repeatedMessage) return;
    if (isTokenRefused(answer)) tokens.drop(account, token);
    if (!isFirst || !isTokenRefused(answer)) throw sendFailed(refusalText(api, answer));
  }
}

function isTokenRefused({ status, body }: PlatformAnswer): boolean {
  return status === 401 || tokenCodes.some((code) => body.code === code || body.err_code === code);
}

function headerText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Maximum code points of one message. */
export const maxMessageLength = 1_800;

/**
 * Splits a text into messages of at most `limit` code points: after the last line end that fits, else at the limit. Line
 * ends at a split and blank messages are omitted.
 */
export function splitText(text: string, limit = maxMessageLength): readonly string[] {
  const parts: string[] = [];
  let rest = [...text];
  while (rest.length > limit) {
    const head = rest.slice(0, limit + 1);
    const lineEnd = head.lastIndexOf('\n');
    const size = lineEnd > 0 ? lineEnd : limit;
    parts.push(rest.slice(0, size).join('').trimEnd());
    rest = rest.slice(rest[size] === '\n' ? size + 1 : size);
  }
  parts.push(rest.join(''));
  return parts.filter((part) => part.trim() !== '');
}
