import { channelNamePattern, type SessionRef, sessionNameLimits, violatedNameRule } from 'mortise/contracts/sessions';
import { boundUser, isJsonObject, type JsonObject, type Principal } from 'mortise/sdk';
import { invalidRequest, selfOpsError } from './errors.js';

export function readObject(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw selfOpsError('invalid_json');
  return body;
}

/** A text member, trimmed; empty when it is missing or null. @throws invalid_json for another type */
export function readText(body: JsonObject, member: string): string {
  return readRawText(body, member).trim();
}

/** A text member as it was sent; empty when it is missing or null. @throws invalid_json for another type */
export function readRawText(body: JsonObject, member: string): string {
  const value = body[member];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw selfOpsError('invalid_json');
  return value;
}

/** False when it is missing or null. @throws invalid_json for another type */
export function readFlag(body: JsonObject, member: string): boolean {
  const value = body[member];
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw selfOpsError('invalid_json');
  return value;
}

/** @throws invalid_channel, invalid_request for a name that no session can have */
export function readSession(body: JsonObject, sessionId: string): SessionRef {
  const channel = readText(body, 'channel').toLowerCase() || 'console';
  const userId = readRawText(body, 'user_id');
  if (!channelNamePattern.test(channel)) throw selfOpsError('invalid_channel');
  for (const [member, value, limit] of [
    ['user_id', userId, sessionNameLimits.userId],
    ['session_id', sessionId, sessionNameLimits.sessionId],
  ] as const) {
    const rule = violatedNameRule(value, limit);
    if (rule !== undefined) throw invalidRequest(`${member} ${rule}`);
  }
  return { channel, userId, sessionId };
}

/** @throws actor_mismatch when the key is bound to another user */
export function checkUser(principal: Principal, { userId }: SessionRef): void {
  const user = boundUser(principal);
  if (user !== undefined && user !== userId) throw selfOpsError('actor_mismatch');
}
