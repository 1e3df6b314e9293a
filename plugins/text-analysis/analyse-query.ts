import type { AnalysedQuery, AnalysedToken, QueryPhrase } from 'mortise/contracts/text-analysis';
import { isContraction } from './add-name.js';
import { analyse } from './analyse.js';
import { normalise } from './normalise.js';
import { isStopWord } from './stop-words.js';

/** Text between straight double quotes, full-width ones included; typographic ones are plain punctuation in Chinese. */
const QUOTED = /["\uff02]([^"\uff02]*)["\uff02]/gu;

const ONE_WORD = /^[\p{L}\p{N}\p{M}]+$/u;
const UP_TO_TWO_CHARACTERS = /^(?:\P{M}\p{M}*){1,2}$/u;

/** Whether a text that holds this token's text verbatim has the term too, whatever stands around it there. */
function isSure(token: AnalysedToken): boolean {
  if (isContraction(token.term)) return false;
  if (token.class === 'identifier') return ONE_WORD.test(token.term);
  return token.class !== 'word' || UP_TO_TWO_CHARACTERS.test(token.term);
}

/** Words as they stand, since a stem may be missing where the text has `camelCase`; pairs of characters elsewhere. */
function sureTerms(normalised: string): readonly string[] {
  const sure: AnalysedToken[] = [];
  for (const token of analyse(normalised)) {
    const last = sure.at(-1);
    if (token.class === 'raw' && last?.start === token.start && last.end === token.end) sure.pop();
    else if (!isSure(token) || (last !== undefined && token.end <= last.end)) continue;
    sure.push(token);
  }
  return sure.map(({ term }) => term);
}

function phrasesOf(query: string): readonly QueryPhrase[] {
  const texts = Array.from(query.matchAll(QUOTED), ([, quoted]) => normalise(quoted ?? ''));
  return [...new Set(texts)].filter((text) => text !== '').map((text) => ({ text, terms: sureTerms(text) }));
}

/**
 * Leaves out stop words with the pairs and characters within them: those of 什么 say as little as the word. Pairs that
 * reach over its border stay; leaving them out too ranked questions worse.
 */
function withoutStopWords(tokens: readonly AnalysedToken[]): readonly AnalysedToken[] {
  const kept: AnalysedToken[] = [];
  let stoppedUntil = 0;
  for (const token of tokens) {
    if (isStopWord(token.term)) stoppedUntil = Math.max(stoppedUntil, token.class === 'word' ? token.end : 0);
    else if (token.end > stoppedUntil) kept.push(token);
  }
  return kept;
}

/** Analyses a query: its terms, each once and without stop words unless nothing else is left, and its phrases. */
export function analyseQuery(query: string): AnalysedQuery {
  const tokens = analyse(query);
  const kept = withoutStopWords(tokens);
  const terms = new Map<string, AnalysedToken>();
  for (const token of kept.length > 0 ? kept : tokens) if (!terms.has(token.term)) terms.set(token.term, token);
  return { terms: [...terms.values()], phrases: phrasesOf(query) };
}
