import { hash } from 'node:crypto';
import { argumentError, decodeBase64, isJsonObject, type JsonObject } from 'mortise/sdk';
import type { Args, Result } from './run-tool.js';
import { toolError } from './tool-error.js';

export function sha256(data: Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** Undefined for bytes that are not UTF-8. */
function decodeText(data: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}

/** Bytes as members of a result: as text, or as base64 if they are not text or the caller asks for it. */
export function contentMembers(data: Uint8Array, encoding: unknown): Result {
  const text = encoding === 'base64' ? undefined : decodeText(data);
  return text === undefined
    ? { content_base64: Buffer.from(data).toString('base64') }
    : { content_text: text, encoding: 'utf-8' };
}

function base64Argument(tool: string, name: string, text: string): Uint8Array {
  const data = decodeBase64(text);
  if (data === undefined) throw argumentError(tool, `/${name}`, 'must be base64');
  return data;
}

/** Decodes the content in arguments. @throws MortiseError `MISSING_REQUIRED_PARAMETER`, `INVALID_PARAM_VALUE`. */
export function bytesOf(tool: string, { content, content_base64, encoding }: Args): Uint8Array {
  if (typeof content_base64 === 'string' && typeof content === 'string')
    throw argumentError(tool, '/content_base64', 'must not be combined with content');
  if (typeof content_base64 === 'string') return base64Argument(tool, 'content_base64', content_base64);
  if (typeof content !== 'string')
    throw toolError('MISSING_REQUIRED_PARAMETER', { parameter: 'content, content_base64' });
  if (encoding === 'base64') return base64Argument(tool, 'content', content);
  if (/\p{Surrogate}/u.test(content)) throw argumentError(tool, '/content', 'must not contain lone surrogates');
  return Buffer.from(content, 'utf8');
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An object argument; empty for any other value. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
