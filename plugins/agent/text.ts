/** The text in pieces of `size` code points. */
export function cutText(text: string, size: number): readonly string[] {
  const points = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < points.length; at += size) pieces.push(points.slice(at, at + size).join(''));
  return pieces;
}

/** The first `limit` code points, and `...` when there were more. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const points = [...text];
  return points.length <= limit ? text : `${points.slice(0, limit).join('')}...`;
}

const modelLimit = 65_536;
const modelHead = 49_152;
const modelTail = 8_192;

/** What a model sees of a very long tool text: its beginning and its end, and how much is missing. */
export function fitForModel(text: string): string {
  if (text.length <= modelLimit) return text;
  const points = [...text];
  if (points.length <= modelLimit) return text;
  const omitted = points.length - modelHead - modelTail;
  const head = points.slice(0, modelHead).join('');
  return `${head}\n... (${omitted} code points omitted)\n${points.slice(-modelTail).join('')}`;
}
