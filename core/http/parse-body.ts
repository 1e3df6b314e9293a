import { isUtf8 } from 'node:buffer';
import { exceedsDepth } from '../schema/index.js';
import type { Mount } from './mounts.js';
import { RefusedRequest } from './refusal-rows.js';

/**
 * Reads a body as its mount says: a JSON value, the decoded text, or nothing beyond the bytes. A leading byte order mark
 * is skipped. Member names such as `__proto__` are plain data of the value.
 * @throws RefusedRequest for bytes that are no UTF-8, nesting that is too deep, and text that is no JSON.
 */
export function parseBody(bytes: Buffer, mount: Mount): unknown {
  if (mount.body === 'bytes') return undefined;
  if (bytes.length === 0) return mount.body === 'text' ? '' : undefined;
  if (!isUtf8(bytes))
    throw new RefusedRequest('json_encoding', { details: { parse_error: 'body is not valid UTF-8' } });
  const content = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  if (exceedsDepth(content, mount.maxDepth)) {
    throw new RefusedRequest('json_depth', { details: { max_depth: mount.maxDepth } });
  }
  const text = content.toString('utf8');
  if (mount.body === 'text') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the body: it stays here.
    throw new RefusedRequest('json_syntax', { details: { parse_error: 'body is not valid JSON' } });
  }
}
