/**
 * The terms of a chunk in order, in a compact form: searches decode hundreds of chunks per query.
 *
 * A stream is a sequence of values. A value of 0 is the end of a sentence, 1 the end of a field; any other value is
 * `2 · (term id) + same`, where `same` is 1 when the term starts where the one before it does (an unstemmed form, a part of
 * a name). Ids begin at 1. Fields are, in order: the content, the heading path, the path of the file.
 */
export type TokenStream = Uint32Array;

export const sentenceEnd = 0;
export const fieldEnd = 1;

/** The fields of a chunk, in the order of its stream. */
export const fields = ['body', 'heading', 'path'] as const;
export type Field = (typeof fields)[number];

/** Writes a stream as variable-length integers of seven bits. */
export function encodeStream(stream: TokenStream): Uint8Array {
  const bytes = new Uint8Array(stream.length * 5);
  let at = 0;
  for (let index = 0; index < stream.length; index += 1) {
    let value = stream[index] ?? 0;
    while (value > 0x7f) {
      bytes[at++] = (value & 0x7f) | 0x80;
      value >>>= 7;
    }
    bytes[at++] = value;
  }
  return bytes.slice(0, at);
}

/** Reads what {@link encodeStream} wrote. */
export function decodeStream(bytes: Uint8Array): TokenStream {
  const stream = new Uint32Array(bytes.length);
  let length = 0;
  let value = 0;
  let shift = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    value |= (byte & 0x7f) << shift;
    if (byte > 0x7f) shift += 7;
    else {
      stream[length++] = value >>> 0;
      value = 0;
      shift = 0;
    }
  }
  return stream.subarray(0, length);
}

/** Weight of one occurrence of a term by field: words of headings say what a passage is about. */
export const fieldWeights = { body: 1, heading: 2, path: 0.3 } as const;

/** The weighted frequency of every term of a stream. */
export function termFrequencies(stream: TokenStream): Map<number, number> {
  const counts = new Map<number, number>();
  let field = 0;
  let weight: number = fieldWeights.body;
  for (let index = 0; index < stream.length; index += 1) {
    const value = stream[index] ?? 0;
    if (value > 1) counts.set(value >>> 1, (counts.get(value >>> 1) ?? 0) + weight);
    else if (value === fieldEnd) {
      field += 1;
      weight = field === 1 ? fieldWeights.heading : fieldWeights.path;
    }
  }
  return counts;
}

/**
 * Upper limits of weighted frequencies. The search table has one column for each, so that a posting says about how often
 * its term occurs without a look at the chunk.
 */
const frequencyLimits = [1.05, 2.05, 3.05, 4.05, 6.05, 9.05, 15.05, Number.POSITIVE_INFINITY];

/** A frequency that represents each column. */
export const columnFrequencies: readonly number[] = [1, 2, 3, 4, 5.3, 7.8, 12, 20];

/** The column of a weighted frequency. */
export function frequencyColumn(frequency: number): number {
  return frequencyLimits.findIndex((limit) => frequency <= limit);
}

/** The index of each term by its id, -1 for others. Streams have thousands of values, and a map costs several times as much. */
export function indexById(terms: readonly { readonly id: number }[]): Int32Array {
  const indexOf = new Int32Array(terms.reduce((most, { id }) => Math.max(most, id), 0) + 1).fill(-1);
  for (const [index, { id }] of terms.entries()) indexOf[id] = index;
  return indexOf;
}
