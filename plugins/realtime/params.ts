import {
  channelNamePattern,
  idempotencyKeyPattern,
  isLonger,
  nameProblem,
  type SessionRef,
  sessionNameLimits,
} from 'mortise/contracts/sessions';
import {
  boundUser,
  isJsonObject,
  isUnstorableText,
  type JsonObject,
  type ModelContentPart,
  type Principal,
} from 'mortise/sdk';
import { invalidParams, wireError } from './errors.js';

/** Databases would store another text, the same one for many. */
const loneSurrogates = 'must not have lone surrogates';

/** The channel of sessions that belong to the socket. */
const socketChannel = 'ws';

/** The session of a request. A key that is bound to a user reaches only that user's sessions. */
export function readSession(params: JsonObject, principal: Principal): SessionRef {
  return {
    ...readOwner(params, principal),
    sessionId: readName(params, 'session_id', 'main', sessionNameLimits.sessionId),
  };
}

export function readOwner(params: JsonObject, principal: Principal): Pick<SessionRef, 'channel' | 'userId'> {
  const user = boundUser(principal);
  const userId = readName(params, 'user_id', user ?? 'local', sessionNameLimits.userId);
  if (user !== undefined && user !== userId) throw wireError('ACTOR_MISMATCH');
  const { channel = socketChannel } = params;
  if (typeof channel !== 'string' || !channelNamePattern.test(channel)) {
    throw invalidParams('channel', 'must be a name of lower-case letters, digits, "-" and "_"');
  }
  return { channel, userId };
}

function readName(params: JsonObject, field: string, fallback: string, limit: number): string {
  const value = params[field] ?? fallback;
  if (typeof value !== 'string') throw invalidParams(field, 'must be a string');
  const problem = value === '' ? 'too_long' : nameProblem(value, limit);
  if (problem === 'too_long') throw invalidParams(field, `must have 1 to ${limit} characters`);
  if (problem === 'control_characters') throw invalidParams(field, 'must not have control characters');
  if (problem === 'lone_surrogates') throw invalidParams(field, loneSurrogates);
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
  if (typeof value !== 'string' || !idempotencyKeyPattern.test(value)) {
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
