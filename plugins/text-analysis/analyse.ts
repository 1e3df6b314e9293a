import type { AnalysedQuery, AnalysedToken, QueryPhrase } from 'mortise/contracts/text-analysis';
import { addName, isContraction, isWordKind } from './add-name.js';
import { addSegmented, createWordBorders } from './add-segmented.js';
import { kindAt, MARK, SEGMENTED, SEPARATOR, widthAt } from './character-kind.js';
import { foldText } from './fold-text.js';
import { isStopWord } from './stop-words.js';
import { createTokenSink } from './token-sink.js';

/** The tokens of a text, in one pass over its folded form, with offsets into the original. */
export function analyse(text: string): readonly AnalysedToken[] {
  const folded = foldText(text);
  const sink = createTokenSink(folded);
  const wordBorders = createWordBorders(folded.lower);
  let at = 0;
  while (at < folded.cased.length) {
    const kind = kindAt(folded.cased, at);
    if (kind === SEGMENTED) at = addSegmented(sink, at, wordBorders);
    else if (isWordKind(kind)) at = addName(sink, at);
    else at += widthAt(folded.cased, at);
  }
  return sink.tokens;
}

/** Analyses a query: its distinct terms, without stop words unless there are no others, and its phrases. */
export function analyseQuery(query: string): AnalysedQuery {
  const tokens = analyse(query);
  const remaining = withoutStopWords(tokens);
  const terms = new Map<string, AnalysedToken>();
  for (const token of remaining.length > 0 ? remaining : tokens)
    if (!terms.has(token.term)) terms.set(token.term, token);
  return { terms: [...terms.values()], phrases: phrasesOf(query) };
}

/**
 * Removes stop words with the pairs and characters within them: those of 什么 are as common as the word. Pairs that cross
 * its border remain, because removing them ranked questions worse.
 */
function withoutStopWords(tokens: readonly AnalysedToken[]): readonly AnalysedToken[] {
  const remaining: AnalysedToken[] = [];
  let stoppedUntil = 0;
  for (const token of tokens) {
    if (isStopWord(token.term)) stoppedUntil = Math.max(stoppedUntil, token.class === 'word' ? token.end : 0);
    else if (token.end > stoppedUntil) remaining.push(token);
  }
  return remaining;
}

/** Text between straight double quotes, also full-width ones; typographic ones are ordinary punctuation in Chinese. */
const QUOTED = /["\uff02]([^"\uff02]*)["\uff02]/gu;

const ONE_WORD = /^[\p{L}\p{N}\p{M}]+$/u;
const UP_TO_TWO_CHARACTERS = /^(?:\P{M}\p{M}*){1,2}$/u;

/** Whether every text that contains this token's text verbatim has the term, whatever surrounds it there. */
function isReliable(token: AnalysedToken): boolean {
  if (isContraction(token.term)) return false;
  if (token.class === 'identifier') return ONE_WORD.test(token.term);
  return token.class !== 'word' || UP_TO_TWO_CHARACTERS.test(token.term);
}

/** Unstemmed words, because a stem may be missing in `camelCase`; pairs of characters in scripts without spaces. */
function reliableTerms(normalised: string): readonly string[] {
  const reliable: AnalysedToken[] = [];
  for (const token of analyse(normalised)) {
    const last = reliable.at(-1);
    if (token.class === 'raw' && last?.start === token.start && last.end === token.end) reliable.pop();
    else if (!isReliable(token) || (last !== undefined && token.end <= last.end)) continue;
    reliable.push(token);
  }
  return reliable.map(({ term }) => term);
}

function phrasesOf(query: string): readonly QueryPhrase[] {
  const texts = Array.from(query.matchAll(QUOTED), ([, quoted]) => normalise(quoted ?? ''));
  return [...new Set(texts)].filter((text) => text !== '').map((text) => ({ text, terms: reliableTerms(text) }));
}

/** The form in which phrases are compared: folded, lower case, white space collapsed and trimmed. */
export function normalise(text: string): string {
  return foldText(text).lower.replace(/\s+/gu, ' ').trim();
}

/** Whether an offset is a word border; in a script without spaces every offset is. */
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
    // The next attempt starts at a border: every offset of a long run of one letter would take quadratic time.
    do at += 1;
    while (!isBorder(normalisedText, at));
    at = normalisedText.indexOf(text, at);
  }
  return false;
}
