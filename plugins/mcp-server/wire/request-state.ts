import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson, isJsonObject, type JsonObject } from 'mortise/sdk';
import { RpcFailure } from './failure.js';

/** Milliseconds for which a client may continue an interrupted request. */
const requestStateTtlMs = 600_000;

/** The request that a state is valid for: only the same principal can continue it, with the same parameters. */
export interface RequestIdentity {
  readonly principal: string;
  readonly method: string;
  /** The parameters that must not change. */
  readonly boundParams: unknown;
}

/**
 * The answers so far, as a token that the client sends back with the next round. It is signed but not encrypted:
 * everything in it came from the client or is known to it.
 */
export function sealRequestState(key: Buffer, identity: RequestIdentity, answers: JsonObject, now: number): string {
  const payload = Buffer.from(
    JSON.stringify({
      p: identity.principal,
      m: identity.method,
      d: digest(identity.boundParams),
      a: answers,
      x: now + requestStateTtlMs,
    }),
  ).toString('base64url');
  return `${payload}.${sign(key, payload)}`;
}

/** @throws RpcFailure for a token that is forged, expired, or of another principal or request. */
export function openRequestState(key: Buffer, identity: RequestIdentity, token: unknown, now: number): JsonObject {
  const opened = typeof token === 'string' ? verified(key, token) : undefined;
  if (
    opened === undefined ||
    opened.p !== identity.principal ||
    opened.m !== identity.method ||
    opened.d !== digest(identity.boundParams) ||
    typeof opened.x !== 'number' ||
    opened.x < now
  ) {
    throw new RpcFailure('INVALID_PARAM_VALUE', 'Parameter "requestState" is not valid for this request.', {
      details: { path: '/requestState' },
    });
  }
  const answers = opened.a;
  return isJsonObject(answers) ? answers : {};
}

function verified(key: Buffer, token: string): JsonObject | undefined {
  const dot = token.indexOf('.');
  if (dot < 0) return undefined;
  const payload = token.slice(0, dot);
  const expected = Buffer.from(sign(key, payload));
  const sent = Buffer.from(token.slice(dot + 1));
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined;
  const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return isJsonObject(value) ? value : undefined;
}

function sign(key: Buffer, payload: string): string {
  return createHmac('sha256', key).update(payload).digest('base64url');
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url');
}
