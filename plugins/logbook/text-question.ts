import type { TextQuestion } from 'mortise/contracts/logbook';
import type { Database, SqlValue } from 'mortise/sdk';

const MOST_TERMS = 8;

/** Text for `like … escape '\'` that matches the given text literally. */
function likeLiteral(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

/** SQLite, and PostgreSQL in the locale C, fold only ASCII letters: other words are asked for as they are usually written. */
function spellings(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const [first = '', ...rest] = lower;
  return [...new Set([text, lower, text.toUpperCase(), first.toUpperCase() + rest.join('')])];
}

function askedTexts(question: TextQuestion): readonly string[] {
  const texts = [question.phrase.trim(), ...question.terms.slice(0, MOST_TERMS)];
  return [...new Set(texts)].filter((text) => text !== '');
}

/** A condition that every text with a score above 0 meets (and some others may). Undefined for an empty question. */
export function questionCondition(
  database: Database,
  question: TextQuestion,
  columns: readonly string[],
): { readonly sql: string; readonly bindings: readonly SqlValue[] } | undefined {
  const patterns = askedTexts(question).flatMap((text) => spellings(text).map((s) => `%${likeLiteral(s)}%`));
  if (patterns.length === 0) return undefined;
  const operator = database.dialect === 'sqlite' ? 'like' : 'ilike';
  const one = columns.map((column) => `${column} ${operator} ? escape '\\'`).join(' or ');
  return {
    sql: `(${patterns.map(() => one).join(' or ')})`,
    bindings: patterns.flatMap((pattern) => columns.map(() => pattern)),
  };
}

/** 1 where one of the texts holds the whole phrase, else the share of the terms that occur in any of them. */
export function questionScore(question: TextQuestion, texts: readonly string[]): number {
  const folded = texts.map((text) => text.toLowerCase());
  const holds = (part: string) => folded.some((text) => text.includes(part.toLowerCase()));
  const phrase = question.phrase.trim();
  if (phrase !== '' && holds(phrase)) return 1;
  const terms = question.terms.slice(0, MOST_TERMS);
  return terms.length === 0 ? 0 : terms.filter(holds).length / terms.length;
}
