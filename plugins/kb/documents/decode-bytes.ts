/** The text of a file, or why it is not indexed. */
type Decoded =
  | { readonly text: string }
  | { readonly reason: 'binary' }
  | { readonly reason: 'invalid_utf8'; readonly offset: number };

/** A NUL within this many bytes makes a file binary. */
const probedBytes = 8_192;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes UTF-8 with or without a byte order mark, and UTF-16 with one. */
export function decodeBytes(bytes: Buffer): Decoded {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: new TextDecoder('utf-16le').decode(bytes) };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: new TextDecoder('utf-16be').decode(bytes) };
  if (bytes.subarray(0, probedBytes).includes(0)) return { reason: 'binary' };
  try {
    return { text: utf8.decode(bytes) };
  } catch {
    return { reason: 'invalid_utf8', offset: invalidOffset(bytes) };
  }
}

/** The offset of the first byte that is not UTF-8: everything before it decodes. */
function invalidOffset(bytes: Buffer): number {
  let valid = 0;
  let end = bytes.length;
  // The prefix [0, valid] is known to be valid, the one up to `end` is not.
  while (end - valid > 1) {
    const middle = Math.floor((valid + end) / 2);
    if (isValidPrefix(bytes.subarray(0, middle))) valid = middle;
    else end = middle;
  }
  return valid;
}

/** Whether bytes are valid apart from a character that is cut at the end. */
function isValidPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
