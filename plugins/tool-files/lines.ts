/** The lines of a text, without their endings. A final newline ends the last line and begins no other. */
export function linesOf(text: string): string[] {
  if (text === '') return [];
  const lines = text.split(/\r?\n/);
  if (text.endsWith('\n')) lines.pop();
  return lines;
}

/**
 * Replaces lines of a text. The other lines keep their endings, new ones get the text's usual one, and whether the text
 * ends with a newline does not change.
 *
 * @param start first line, from 1
 * @param end last line, inclusive
 */
export function replaceLines(text: string, start: number, end: number, content: string): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const inserted = linesOf(content).map((line) => `${line}${newline}`);
  const result = [...lines.slice(0, start - 1), ...inserted, ...lines.slice(end)].join('');
  if (text === '' || text.endsWith('\n')) return result;
  return result.replace(/\r?\n$/, '');
}
