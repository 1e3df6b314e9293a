/** A known term that is close to one that occurs nowhere. */
interface CloseTerm {
  readonly term: string;
  readonly df: number;
}

const maxFound = 3;
const minPrefix = 4;

/** Letters of a term as bits: terms with very different letters cannot be close. */
function lettersOf(term: string): number {
  let letters = 0;
  for (let at = 0; at < term.length; at += 1) letters |= 1 << (term.charCodeAt(at) % 31);
  return letters;
}

function bits(value: number): number {
  let rest = value;
  let count = 0;
  for (; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/**
 * The closest known terms: at an edit distance of 1 for 4 to 7 characters and up to 2 from 8 on; without such, those with
 * the longest common beginning of at least 4 characters. Ordered by distance, document count and code point.
 */
export function closeTerms(word: string, vocabulary: readonly CloseTerm[]): readonly CloseTerm[] {
  const limit = word.length < 4 ? 0 : word.length < 8 ? 1 : 2;
  if (limit === 0) return [];
  const letters = lettersOf(word);
  const near: { readonly term: CloseTerm; readonly distance: number }[] = [];
  let prefixed: { readonly term: CloseTerm; readonly distance: number }[] = [];
  let longest = minPrefix;
  for (const known of vocabulary) {
    if (known.df === 0) continue;
    const { term } = known;
    if (Math.abs(term.length - word.length) <= limit && bits(lettersOf(term) ^ letters) <= 2 * limit) {
      const distance = editDistance(word, term, limit);
      if (distance <= limit) near.push({ term: known, distance });
    }
    if (near.length > 0) continue;
    const common = commonPrefix(word, term);
    if (common > longest) {
      longest = common;
      prefixed = [];
    }
    if (common === longest) prefixed.push({ term: known, distance: Math.abs(term.length - word.length) });
  }
  return (near.length > 0 ? near : prefixed)
    .sort((a, b) => a.distance - b.distance || b.term.df - a.term.df || (a.term.term < b.term.term ? -1 : 1))
    .slice(0, maxFound)
    .map(({ term }) => term);
}

function commonPrefix(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

/** Levenshtein distance, or more than `limit` as soon as that is certain. */
function editDistance(one: string, other: string, limit: number): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + Number(one[row - 1] !== other[column - 1]);
      const value = Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      current.push(value);
      if (value < least) least = value;
    }
    if (least > limit) return limit + 1;
    previous = current;
  }
  return previous[other.length] ?? 0;
}
