import { hash } from 'node:crypto';
import { decodeBase64 } from 'mortise/sdk';
import type { Args, Result } from './parts.js';
import { argumentError, toolError } from './tool-error.js';

export function sha256(data: Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** Undefined for bytes that are no UTF-8. */
function textOf(data: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}

/** Bytes as members of a result: text where they are text and nobody asked for base64. */
export function contentMembers(data: Uint8Array, encoding: unknown): Result {
  const text = encoding === 'base64' ? undefined : textOf(data);
  return text === undefined
    ? { content_base64: Buffer.from(data).toString('base64') }
    : { content_text: text, encoding: 'utf-8' };
}

function base64Argument(tool: string, name: string, text: string): Uint8Array {
  const data = decodeBase64(text);
  if (data === undefined) throw argumentError(tool, `/${name}`, 'must be base64');
  return data;
}

/** The bytes that arguments stand for. @throws MortiseError `MISSING_REQUIRED_PARAMETER`, `INVALID_PARAM_VALUE`. */
export function bytesOf(tool: string, { content, content_base64, encoding }: Args): Uint8Array {
  if (typeof content_base64 === 'string' && typeof content === 'string')
    throw argumentError(tool, '/content_base64', 'must not come beside content: one of them holds the bytes');
  if (typeof content_base64 === 'string') return base64Argument(tool, 'content_base64', content_base64);
  if (typeof content !== 'string')
    throw toolError('MISSING_REQUIRED_PARAMETER', { parameter: 'content, content_base64' });
  if (encoding === 'base64') return base64Argument(tool, 'content', content);
  if (/\p{Surrogate}/u.test(content)) throw argumentError(tool, '/content', 'must not hold lone surrogates');
  return Buffer.from(content, 'utf8');
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function textArgument(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
