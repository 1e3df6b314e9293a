import type { TextQuestion } from 'mortise/contracts/logbook';
import type { Database, SqlValue } from 'mortise/sdk';

const MOST_TERMS = 8;

/** Escapes text for `like … escape '\'`. */
function likeLiteral(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

/** SQLite, and PostgreSQL in locale C, fold ASCII only; other scripts are matched in their usual spellings. */
function spellings(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const [first = '', ...rest] = lower;
  return [...new Set([text, lower, text.toUpperCase(), first.toUpperCase() + rest.join('')])];
}

function askedTexts(question: TextQuestion): readonly string[] {
  const texts = [question.phrase.trim(), ...question.terms.slice(0, MOST_TERMS)];
  return [...new Set(texts)].filter((text) => text !== '');
}

/** Necessary condition for a score above 0; undefined for an empty question. */
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

/** 1 when a text contains the whole phrase, else the share of terms that occur in any text. */
export function questionScore(question: TextQuestion, texts: readonly string[]): number {
  const folded = texts.map((text) => text.toLowerCase());
  const holds = (part: string) => folded.some((text) => text.includes(part.toLowerCase()));
  const phrase = question.phrase.trim();
  if (phrase !== '' && holds(phrase)) return 1;
  const terms = question.terms.slice(0, MOST_TERMS);
  return terms.length === 0 ? 0 : terms.filter(holds).length / terms.length;
}
