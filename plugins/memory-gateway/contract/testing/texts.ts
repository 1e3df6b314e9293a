const syllables = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu ral ten mor sil ver con'.split(' ');
const vocabulary = 20_000;
/** The first of the CJK Unified Ideographs. */
const firstCharacter = 0x4e00;
const characters = 3_000;

/**
 * Reproducible texts: the same seed gives the same sequence. Word frequencies follow Zipf's law, as in natural texts: a few
 * words are everywhere, most are rare.
 */
export interface Texts {
  /** English-like, with this number of characters. */
  english(length: number): string;
  /** One in three is Chinese. */
  mixed(length: number): string;
  /** The word with this frequency rank, from 0. */
  word(rank: number): string;
  /** Three words, or four Chinese characters, of medium frequency: a typical search. */
  question(): string;
}

export function createTexts(seed = 1): Texts {
  let state = seed >>> 0;
  // Numerical Recipes' linear congruential generator; good enough to spread words.
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  // The rank of a draw from Zipf's distribution with exponent 1: frequencies fall as 1/rank.
  const rank = (of: number, from = 1): number => Math.floor(from * (of / from) ** next()) - 1;
  const word = (at: number): string => {
    let text = '';
    for (let left = at + syllables.length; left > 0; left = Math.floor(left / syllables.length))
      text += syllables[left % syllables.length];
    return text;
  };
  const character = (at: number): string => String.fromCharCode(firstCharacter + at);
  let count = 0;
  const english = (length: number): string => {
    count += 1;
    let text = `note ${count}`;
    while (text.length < length) text += ` ${word(rank(vocabulary))}`;
    return text.slice(0, length);
  };
  const chinese = (length: number): string => {
    count += 1;
    let text = `笔记${count}`;
    while (text.length < length) text += character(rank(characters));
    return text;
  };
  return {
    english,
    word,
    mixed: (length) => (next() < 1 / 3 ? chinese(length) : english(length)),
    question: () =>
      next() < 1 / 3
        ? Array.from({ length: 4 }, () => character(rank(characters, 30))).join('')
        : Array.from({ length: 3 }, () => word(rank(vocabulary, 50))).join(' '),
  };
}
