import type { AnalysedToken } from 'mortise/contracts/text-analysis';
import { textAnalysis } from '../text-analysis.js';

export const analysis = textAnalysis;

/** Tokens as `class:term`, the short form of the tables. */
export function terms(text: string): string[] {
  return analysis.analyse(text).map(({ class: termClass, term }) => `${termClass}:${term}`);
}

/** The text of a token. */
export function source(text: string, token: AnalysedToken): string {
  return text.slice(token.start, token.end);
}
