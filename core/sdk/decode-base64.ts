const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Bytes of base64 (RFC 4648) in either alphabet, with or without padding, white space ignored. Undefined for what is none:
 * `Buffer.from` would leave out what it cannot read.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replaceAll(/\s+/g, '');
  const isWhole = packed.endsWith('=') ? packed.length % 4 === 0 : packed.length % 4 !== 1;
  if (!isWhole || !BASE64.test(packed)) return undefined;
  return Buffer.from(packed.replaceAll('-', '+').replaceAll('_', '/'), 'base64');
}
