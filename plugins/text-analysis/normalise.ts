import type { QueryPhrase } from 'mortise/contracts/text-analysis';
import { kindAt, MARK, SEGMENTED, SEPARATOR } from './character-kind.js';
import { foldText } from './fold-text.js';

/** The text as phrases are compared: folded, lower case, white space collapsed and trimmed. */
export function normalise(text: string): string {
  return foldText(text).lower.replace(/\s+/gu, ' ').trim();
}

/** Whether a border of a word lies before an offset; every place in a script without spaces counts as one. */
function isBorder(text: string, at: number): boolean {
  if (at === 0 || at >= text.length) return true;
  const after = kindAt(text, at);
  const low = text.charCodeAt(at - 1);
  const before = kindAt(text, low >= 0xdc00 && low <= 0xdfff && at > 1 ? at - 2 : at - 1);
  if (after === MARK) return false;
  return [before, after].some((kind) => kind === SEPARATOR || kind === SEGMENTED);
}

/** Whether a normalised text contains a phrase, with whole words at both its ends. */
export function containsPhrase(normalisedText: string, phrase: QueryPhrase): boolean {
  const { text } = phrase;
  let at = normalisedText.indexOf(text);
  while (at !== -1) {
    if (isBorder(normalisedText, at) && isBorder(normalisedText, at + text.length)) return true;
    // The next try begins at a border: trying every offset of a long row of one letter would take quadratic time.
    do at += 1;
    while (!isBorder(normalisedText, at));
    at = normalisedText.indexOf(text, at);
  }
  return false;
}
