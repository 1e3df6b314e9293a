import { stemmer } from 'stemmer';

/** Words longer than this are no English words; the stemmer's patterns are not asked about them. */
const LONGEST_STEMMED = 40;

/** The stemmer takes about a microsecond a word and texts repeat theirs; the memory is emptied when full. */
const REMEMBERED = 20_000;
const stems = new Map<string, string>();

/** The Porter stem of a lower-case English word; any other word as it is. */
export function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (word.length > LONGEST_STEMMED || !/^[a-z]+$/.test(word)) return word;
  if (stems.size >= REMEMBERED) stems.clear();
  const result = stemmer(word);
  stems.set(word, result);
  return result;
}
