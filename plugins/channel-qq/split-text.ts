/** Maximum code points of one message. */
export const maxMessageLength = 1_800;

/**
 * Splits a text into messages of at most `limit` code points: after the last line end that fits, else at the limit. Line
 * ends at a split and blank messages are omitted.
 */
export function splitText(text: string, limit = maxMessageLength): readonly string[] {
  const parts: string[] = [];
  let rest = [...text];
  while (rest.length > limit) {
    const head = rest.slice(0, limit + 1);
    const lineEnd = head.lastIndexOf('\n');
    const size = lineEnd > 0 ? lineEnd : limit;
    parts.push(rest.slice(0, size).join('').trimEnd());
    rest = rest.slice(rest[size] === '\n' ? size + 1 : size);
  }
  parts.push(rest.join(''));
  return parts.filter((part) => part.trim() !== '');
}
