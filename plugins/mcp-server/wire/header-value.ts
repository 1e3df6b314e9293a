const sentinel = /^=\?base64\?(.*)\?=$/s;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A mirrored header's value: `=?base64?…?=` holds UTF-8 that a header cannot carry plainly.
 * Undefined when that is no base64 or no UTF-8.
 */
export function decodeHeaderValue(value: string): string | undefined {
  const encoded = sentinel.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!base64.test(encoded)) return undefined;
  try {
    return decoder.decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}
