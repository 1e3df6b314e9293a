import type { SessionRef } from 'mortise/contracts/sessions';
import { isUnstorableText, type Principal } from 'mortise/sdk';
import { invalidParams, wireError } from './errors.js';
import { isObject, type Json } from './json.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;
const channelName = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/** Both databases would keep another text, the same one for many. */
const loneSurrogates = 'must not have lone surrogates';

/** The channel of sessions that belong to the socket. */
export const socketChannel = 'ws';

/** Whose session is meant. A key that belongs to one user reaches only that user's sessions. */
export function readSession(params: Json, principal: Principal): SessionRef {
  return { ...readOwner(params, principal), sessionId: readName(params, 'session_id', 'main', 256) };
}

export function readOwner(params: Json, principal: Principal): Pick<SessionRef, 'channel' | 'userId'> {
  const userId = readName(params, 'user_id', principal.actor ?? 'local', 128);
  if (principal.actor !== undefined && principal.actor !== userId) throw wireError('ACTOR_MISMATCH');
  const { channel = socketChannel } = params;
  if (typeof channel !== 'string' || !channelName.test(channel)) {
    throw invalidParams('channel', 'must be a name of lower-case letters, digits, "-" and "_"');
  }
  return { channel, userId };
}

function readName(params: Json, field: string, fallback: string, limit: number): string {
  const value = params[field] ?? fallback;
  if (typeof value !== 'string') throw invalidParams(field, 'must be a string');
  if (value === '' || isLonger(value, limit)) throw invalidParams(field, `must have 1 to ${limit} characters`);
  if (controlCharacters.test(value)) throw invalidParams(field, 'must not have control characters');
  if (isUnstorableText(value)) throw invalidParams(field, loneSurrogates);
  return value;
}

export function readText(params: Json, field: string, limit: number): string {
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

export function readInteger(params: Json, field: string, least: number, most: number): number | undefined {
  const value = params[field];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
    throw invalidParams(field, `must be an integer from ${least} to ${most}`);
  }
  return value;
}

export function readFlag(params: Json, field: string): boolean {
  const value = params[field] ?? false;
  if (typeof value !== 'boolean') throw invalidParams(field, 'must be true or false');
  return value;
}

export function readObject(params: Json, field: string): Json {
  const value = params[field] ?? {};
  if (!isObject(value)) throw invalidParams(field, 'must be an object');
  return value;
}

/** Counts code points only where the answer is not clear from the length. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > limit * 2) return true;
  let points = 0;
  for (const _ of text) points += 1;
  return points > limit;
}
