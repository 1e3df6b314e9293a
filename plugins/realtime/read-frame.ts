import { randomUUID } from 'node:crypto';
import { wireError } from './errors.js';
import { isObject, type Json } from './json.js';

export interface RpcRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Json;
}

/** The id of answers to frames that have none. */
export const unknownId = 'unknown';

const idLimit = 128;

export type FrameRead =
  | { readonly ok: true; readonly request: RpcRequest }
  | { readonly ok: false; readonly id: string; readonly error: ReturnType<typeof wireError> };

/** The envelope of a request. Whatever is wrong with it, the answer has its id where there is one. */
export function readFrame(frame: string | Uint8Array): FrameRead {
  if (typeof frame !== 'string') return refused(unknownId, 'Invalid RPC request: frame must be text');
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    return refused(unknownId);
  }
  if (!isObject(value)) return refused(unknownId, 'Invalid RPC request: frame must be an object');
  const { type = 'request', id, method, params = {} } = value;
  const known = typeof id === 'string' ? id : unknownId;
  if (id !== undefined && (typeof id !== 'string' || id.length > idLimit)) return refused(known, wrong('id'));
  if (type !== 'request') return refused(known, wrong('type'));
  if (typeof method !== 'string' || method.trim() === '') return refused(known, wrong('method'));
  if (!isObject(params)) return refused(known, wrong('params'));
  return { ok: true, request: { id: id ?? randomUUID(), method, params } };
}

function wrong(field: string): string {
  return `Invalid RPC request: ${field}`;
}

function refused(id: string, message?: string): FrameRead {
  return { ok: false, id, error: wireError('PARSE_ERROR', message) };
}
