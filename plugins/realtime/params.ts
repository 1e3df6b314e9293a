import type { SessionRef } from 'mortise/contracts/sessions';
import { isJsonObject, isUnstorableText, type JsonObject, type ModelContentPart, type Principal } from 'mortise/sdk';
import { invalidParams, wireError } from './errors.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;
const channelName = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/** Databases would store another text, the same one for many. */
const loneSurrogates = 'must not have lone surrogates';

/** The channel of sessions that belong to the socket. */
export const socketChannel = 'ws';

/** The session of a request. A key that is bound to a user reaches only that user's sessions. */
export function readSession(params: JsonObject, principal: Principal): SessionRef {
  return { ...readOwner(params, principal), sessionId: readName(params, 'session_id', 'main', 256) };
}

export function readOwner(params: JsonObject, principal: Principal): Pick<SessionRef, 'channel' | 'userId'> {
  const userId = readName(params, 'user_id', principal.actor ?? 'local', 128);
  if (principal.actor !== undefined && principal.actor !== userId) throw wireError('ACTOR_MISMATCH');
  const { channel = socketChannel } = params;
  if (typeof channel !== 'string' || !channelName.test(channel)) {
    throw invalidParams('channel', 'must be a name of lower-case letters, digits, "-" and "_"');
  }
  return { channel, userId };
}

function readName(params: JsonObject, field: string, fallback: string, limit: number): string {
  const value = params[field] ?? fallback;
  if (typeof value !== 'string') throw invalidParams(field, 'must be a string');
  if (value === '' || isLonger(value, limit)) throw invalidParams(field, `must have 1 to ${limit} characters`);
  if (controlCharacters.test(value)) throw invalidParams(field, 'must not have control characters');
  if (isUnstorableText(value)) throw invalidParams(field, loneSurrogates);
  return value;
}

export function readText(params: JsonObject, field: string, limit: number): string {
  const value = params[field];
  if (value === undefined) throw invalidParams(field, 'is required');
  if (typeof value !== 'string') throw invalidParams(field, 'must be a string');
  if (isLonger(value, limit)) throw invalidParams(field, `must have at most ${limit} characters`);
  if (value.includes('\u0000')) throw invalidParams(field, 'must not have NUL characters');
  if (isUnstorableText(value)) throw invalidParams(field, loneSurrogates);
  return value;
}

export function readIdempotencyKey(value: unknown, field: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !visibleAscii.test(value)) {
    throw invalidParams(field, 'must have 1 to 128 visible ASCII characters');
  }
  return value;
}

export function readInteger(params: JsonObject, field: string, least: number, most: number): number | undefined {
  const value = params[field];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
    throw invalidParams(field, `must be an integer from ${least} to ${most}`);
  }
  return value;
}

export function readFlag(params: JsonObject, field: string): boolean {
  const value = params[field] ?? false;
  if (typeof value !== 'boolean') throw invalidParams(field, 'must be true or false');
  return value;
}

export function readObject(params: JsonObject, field: string): JsonObject {
  const value = params[field] ?? {};
  if (!isJsonObject(value)) throw invalidParams(field, 'must be an object');
  return value;
}

/** Counts code points only if the length does not decide. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > limit * 2) return true;
  let points = 0;
  for (const _ of text) points += 1;
  return points > limit;
}

const attachmentLimit = 32;

/** Attachments: parts of a message in the form of `content` at `/agent/process`. */
export function readAttachments({ attachments = [] }: JsonObject): readonly ModelContentPart[] {
  if (!Array.isArray(attachments) || attachments.length > attachmentLimit) {
    throw invalidParams('attachments', `must be a list of at most ${attachmentLimit} objects`);
  }
  return attachments.map((part: unknown) => {
    if (!isJsonObject(part) || typeof part.type !== 'string' || part.type === 'text') {
      throw invalidParams('attachments', 'must be objects with a type other than text');
    }
    return { ...part, type: part.type };
  });
}
