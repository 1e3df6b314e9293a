/** A text folded for comparison, with offsets into the original. */
export interface FoldedText {
  /** NFKC with Latin diacritics folded and the case preserved, to divide `camelCase`. */
  readonly cased: string;
  /** `cased` in lower case, of the same length. */
  readonly lower: string;
  /** Start in the original text of the character of unit `index`. */
  startOf(index: number): number;
  /** End in the original text of the character of unit `index`. */
  endOf(index: number): number;
}

/** Latin letters without a removable mark that are commonly typed as plain letters. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'd',
  Ð: 'D',
  þ: 'th',
  Þ: 'TH',
  ħ: 'h',
  Ħ: 'H',
  ı: 'i',
  ŋ: 'n',
  Ŋ: 'N',
};
const PLAIN_LETTER = new RegExp(`[${Object.keys(PLAIN_LETTERS).join('')}]`, 'gu');

/** Typographic apostrophes and hyphens, which NFKC does not change. */
const APOSTROPHE = /[\u2018\u2019\u02bc]/gu;
const HYPHEN = /[\u2010\u2011]/gu;

/** Invisible within a word: soft hyphen, joiners, word joiner, byte order mark, variation selectors. */
const INVISIBLE = /\u00ad|\u200c|\u200d|\u2060|\ufeff|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** Thai and Lao AM: NFKC decomposes them into a form that the segmenter's dictionaries do not contain. */
const UNCHANGED = new Set(['\u0e33', '\u0eb3']);

/** A compatibility form that expands to more units (one ligature gives 18) is unchanged. */
const MAX_EXPANSION = 8;

/** Characters that fold to themselves when no mark follows (verified by a test): the fast path of common scripts. */
export const SELF_FOLDED =
  '\\x00-\\x7f\\u0400-\\u0481\\u3001-\\u3029\\u3041-\\u3096\\u30a1-\\u30fc\\u4e00-\\u9fff\\uac00-\\ud7a3';

/** Combining marks, and invisible characters between them. */
const ATTACHED = '[\\p{M}\\u00ad\\u200c\\u200d\\u2060\\ufeff]';

/**
 * Characters that are folded together: Hangul in jamo, half-width Kana with a voicing mark, any character with its
 * combining marks. At most 32 marks, because sorting a long sequence of them takes quadratic time.
 */
const CLUSTER = new RegExp(
  [
    '[\\u1100-\\u1112][\\u1161-\\u1175][\\u11a8-\\u11c2]?',
    '[\\uac00-\\ud7a3][\\u11a8-\\u11c2]',
    '[\\uff66-\\uff9d][\\uff9e\\uff9f]',
    `[^${SELF_FOLDED}]${ATTACHED}{0,32}`,
    `[${SELF_FOLDED}]${ATTACHED}{1,32}`,
  ].join('|'),
  'gu',
);

const STARTS_LATIN = /^[\p{Script=Latin}\p{ASCII}]/u;

function foldCluster(cluster: string): string {
  if (UNCHANGED.has(cluster)) return cluster;
  const composed = cluster.replace(INVISIBLE, '').normalize('NFKC');
  if (composed.length > MAX_EXPANSION && composed.length > cluster.length) return cluster;
  if (STARTS_LATIN.test(composed)) {
    return composed
      .normalize('NFD')
      .replace(/\p{M}+/gu, '')
      .replace(PLAIN_LETTER, (letter) => PLAIN_LETTERS[letter] ?? letter)
      .replace(APOSTROPHE, "'");
  }
  return composed.replace(APOSTROPHE, "'").replace(HYPHEN, '-');
}

/** Lower case of folded text, of the same length: U+0130, whose lower case is longer, has been folded. */
function lowerFolded(cased: string): string {
  return cased.toLowerCase().replaceAll('ς', 'σ');
}

/** A cluster whose folded form has another length, which shifts the following offsets. */
interface Shift {
  readonly from: number;
  readonly length: number;
  readonly foldedLength: number;
}

/** Folds a text: NFKC, Latin diacritics, invisible characters. Offsets map to whole original characters. */
export function foldText(text: string): FoldedText {
  const shifts: Shift[] = [];
  const cased = text.replace(CLUSTER, (cluster, from: number) => {
    const folded = foldCluster(cluster);
    if (folded.length !== cluster.length) shifts.push({ from, length: cluster.length, foldedLength: folded.length });
    return folded;
  });
  const lower = lowerFolded(cased);
  if (shifts.length === 0) return { cased, lower, startOf: (index) => index, endOf: (index) => index + 1 };

  const starts = new Int32Array(cased.length);
  const ends = new Int32Array(cased.length);
  let original = 0;
  let folded = 0;
  const copyUntil = (limit: number): void => {
    for (; original < limit; original += 1, folded += 1) {
      starts[folded] = original;
      ends[folded] = original + 1;
    }
  };
  for (const { from, length, foldedLength } of shifts) {
    copyUntil(from);
    starts.fill(from, folded, folded + foldedLength);
    ends.fill(from + length, folded, folded + foldedLength);
    original += length;
    folded += foldedLength;
  }
  copyUntil(text.length);
  return {
    cased,
    lower,
    startOf: (index) => starts[index] ?? text.length,
    endOf: (index) => ends[index] ?? text.length,
  };
}
