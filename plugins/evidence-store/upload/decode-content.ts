const DATA_URI = /^data:([^,]*),/is;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Bytes of base64 in either alphabet, with or without padding; undefined when it is none. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replaceAll(/\s+/g, '');
  const isPadded = packed.endsWith('=');
  const isWhole = isPadded ? packed.length % 4 === 0 : packed.length % 4 !== 1;
  if (!isWhole || !BASE64.test(packed)) return undefined;
  return Buffer.from(packed.replaceAll('-', '+').replaceAll('_', '/'), 'base64');
}

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
