const quote = 0x22;
const backslash = 0x5c;

/**
 * Replaces the value of the top-level member `model` and leaves every other byte as it is.
 *
 * @param body JSON text, already parsed successfully
 */
export function spliceModel(body: Uint8Array, model: string): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const found = findModel(bytes);
  if (!found) return body;
  return Buffer.concat([bytes.subarray(0, found.from), Buffer.from(JSON.stringify(model)), bytes.subarray(found.to)]);
}

/** The position of the value with its quotes. The last member with the name counts, as in `JSON.parse`. */
function findModel(bytes: Buffer): { readonly from: number; readonly to: number } | undefined {
  let depth = 0;
  let atName = false;
  let named = false;
  let found: { from: number; to: number } | undefined;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      const to = endOfString(bytes, at);
      if (depth === 1 && atName) {
        named = isModel(bytes.subarray(at, to));
        atName = false;
      } else if (depth === 1 && named) {
        found = { from: at, to };
      }
      at = to - 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      atName = depth === 1;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    } else if (byte === 0x2c && depth === 1) {
      atName = true;
      named = false;
    }
  }
  return found;
}

/** The position after the closing quote. */
function endOfString(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(quote, from + 1); at >= 0; at = bytes.indexOf(quote, at + 1)) {
    let escapes = 0;
    while (bytes[at - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return bytes.length;
}

function isModel(name: Buffer): boolean {
  // An escaped letter has at most six bytes.
  if (name.length > 2 + 5 * 6) return false;
  return JSON.parse(name.toString('utf8')) === 'model';
}
