import { decodeBase64 } from 'mortise/sdk';

const DATA_URI = /^data:([^,]*),/is;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The bytes that a content stands for: base64 where it is a data URI that says so, or where the caller says so; else its
 * text in UTF-8. Undefined for broken base64, and for text that no bytes stand for.
 */
export function decodeContent(content: string, isBase64: boolean): Uint8Array | undefined {
  const [prefix, head = ''] = DATA_URI.exec(content) ?? [];
  if (prefix !== undefined && /(?:^|;)\s*base64\s*$/i.test(head)) return decodeBase64(content.slice(prefix.length));
  if (isBase64) return decodeBase64(content);
  return LONE_SURROGATE.test(content) ? undefined : Buffer.from(content, 'utf8');
}
