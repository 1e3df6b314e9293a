/**
 * The terms of one text with their positions, in a compact form: scoring reads hundreds of texts per query, and looks up
 * a handful of terms in each.
 *
 * Layout, little-endian: width (1 byte: 2 or 4), number of terms (4 bytes), the terms' hashes in ascending order (4
 * bytes each), the start of each term's positions and their end (width each), the positions (width each).
 */
export type Postings = Uint8Array;

/** More distinct terms than a text of 1 MiB can have. */
const maxTerms = 2 ** 21;

const hashesOffset = 5;

/**
 * FNV-1a over UTF-16 units, 32 bits. Two terms of one text and query with the same hash count as the same term; with
 * 100 terms to a text that is one in 40 million.
 */
export function termHash(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at += 1) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Writes terms with their positions; a position that counts twice occurs twice. */
export function writePostings(terms: ReadonlyMap<string, readonly number[]>): Postings {
  const lists: (readonly number[])[] = [];
  const order = new Float64Array(terms.size);
  let total = 0;
  let last = 0;
  for (const [term, list] of terms) {
    order[lists.length] = termHash(term) * maxTerms + lists.length;
    lists.push(list);
    total += list.length;
    last = Math.max(last, list.at(-1) ?? 0);
  }
  order.sort();
  const width = Math.max(last, total) < 65_536 ? 2 : 4;
  const starts = hashesOffset + 4 * lists.length;
  const positions = starts + width * (lists.length + 1);
  const bytes = new Uint8Array(positions + width * total);
  const view = new DataView(bytes.buffer);
  const write = (at: number, value: number): void =>
    width === 2 ? view.setUint16(at, value, true) : view.setUint32(at, value, true);
  bytes[0] = width;
  view.setUint32(1, lists.length, true);
  let written = 0;
  for (let slot = 0; slot < order.length; slot += 1) {
    const key = order[slot] ?? 0;
    view.setUint32(hashesOffset + 4 * slot, Math.floor(key / maxTerms), true);
    write(starts + width * slot, written);
    for (const position of lists[key % maxTerms] ?? []) {
      write(positions + width * written, position);
      written += 1;
    }
  }
  write(starts + width * lists.length, written);
  return bytes;
}

/** Random access to the postings of one text. */
export interface PostingsReader {
  /** The range of a term's positions; undefined when the text does not have the term. */
  find(hash: number): { readonly from: number; readonly to: number } | undefined;
  positionAt(index: number): number;
}

export function readPostings(postings: Postings): PostingsReader {
  const view = new DataView(postings.buffer, postings.byteOffset, postings.byteLength);
  const width = postings[0] === 4 ? 4 : 2;
  const count = postings.byteLength < hashesOffset ? 0 : view.getUint32(1, true);
  const starts = hashesOffset + 4 * count;
  const positions = starts + width * (count + 1);
  const read = (at: number): number => (width === 2 ? view.getUint16(at, true) : view.getUint32(at, true));
  return {
    find(hash) {
      let low = 0;
      let high = count - 1;
      while (low <= high) {
        const middle = (low + high) >> 1;
        const found = view.getUint32(hashesOffset + 4 * middle, true);
        if (found === hash) return { from: read(starts + width * middle), to: read(starts + width * (middle + 1)) };
        if (found < hash) low = middle + 1;
        else high = middle - 1;
      }
      return undefined;
    },
    positionAt: (index) => read(positions + width * index),
  };
}
