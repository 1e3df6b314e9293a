import {
  channelNamePattern,
  type Idempotency,
  idempotencyKeyPattern,
  idempotencyOf,
  type NewMessage,
  type SessionRef,
  sessionNameLimits,
  violatedNameRule,
} from 'mortise/contracts/sessions';
import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { agentError } from './errors.js';
import { readInput } from './input-messages.js';

interface ProcessRequest {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  readonly stream: boolean;
  readonly business: JsonObject;
  /** Unknown members of the body: one with the name of a tool is a call of it. */
  readonly shortcuts: JsonObject;
}

/** The body of `POST /agent/process`. A known member of another type makes the body invalid. */
export function readProcessRequest(body: unknown): ProcessRequest {
  if (!isJsonObject(body)) throw agentError('invalid_json');
  const { stream = false, biz_params: business, input: messages, ...rest } = body;
  if (typeof stream !== 'boolean') throw agentError('invalid_json');
  if (business !== undefined && business !== null && !isJsonObject(business)) throw agentError('invalid_json');
  const input = readInput(messages);
  const sessionId = text(body, 'session_id');
  const userId = text(body, 'user_id');
  const channel = text(body, 'channel').trim().toLowerCase() || 'console';
  if (sessionId.trim() === '' || userId.trim() === '') {
    throw agentError('invalid_request', { message: 'session_id and user_id are required' });
  }
  checkName('session_id', sessionId, sessionNameLimits.sessionId);
  checkName('user_id', userId, sessionNameLimits.userId);
  if (!channelNamePattern.test(channel)) {
    throw agentError('invalid_channel', { message: 'channel must be a name of letters, digits, "-" and "_"' });
  }
  const { session_id: _, user_id: __, channel: ___, ...shortcuts } = rest;
  return { session: { channel, userId, sessionId }, input, stream, business: business ?? {}, shortcuts };
}

function text(body: JsonObject, member: string): string {
  const value = body[member];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw agentError('invalid_json');
  return value;
}

function checkName(member: string, value: string, limit: number): void {
  const rule = violatedNameRule(value, limit);
  if (rule !== undefined) throw agentError('invalid_request', { message: `${member} ${rule}` });
}

/** The idempotency key of a request, from its header or its body, with the hash that a repeated request must match. */
export function readIdempotency(
  header: string | undefined,
  requestId: string | undefined,
  body: unknown,
): Idempotency | undefined {
  const key = header ?? requestId;
  if (key === undefined) return undefined;
  if (!idempotencyKeyPattern.test(key)) {
    throw agentError('invalid_request', { message: 'Idempotency-Key must have 1 to 128 visible ASCII characters' });
  }
  return idempotencyOf(key, body);
}
