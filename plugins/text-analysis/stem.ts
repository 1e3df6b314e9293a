import { stemmer } from 'stemmer';
import { isStopWord } from './stop-words.js';

/** Words longer than this are no English words; the stemmer's patterns are not asked about them. */
const LONGEST_STEMMED = 40;

/** The stemmer takes about a microsecond a word and texts repeat theirs; the memory is emptied when full. */
const REMEMBERED = 20_000;
const stems = new Map<string, string>();

/** The stem of a word of small English letters that has been met before; undefined for every other word. */
export function knownStem(word: string): string | undefined {
  return stems.get(word);
}

/**
 * The Porter stem of a lower-case English word; any other word as it is. Stop words keep their form too, so that `does`
 * is not taken for a `doe`.
 */
export function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (word.length > LONGEST_STEMMED || !/^[a-z]+$/.test(word)) return word;
  if (stems.size >= REMEMBERED) stems.clear();
  const result = isStopWord(word) ? word : stemmer(word);
  stems.set(word, result);
  return result;
}
