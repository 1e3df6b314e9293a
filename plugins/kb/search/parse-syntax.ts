import { kbError } from '../errors.js';

/** A query divided by the operators that `syntax` allows. */
export interface ParsedQuery {
  /** The words to search, phrases included in their quotes. */
  readonly text: string;
  /** Every hit has these phrases. */
  readonly required: readonly string[];
  /** No hit has these words. */
  readonly excluded: readonly string[];
  readonly path: readonly string[];
  readonly heading: readonly string[];
  readonly types: readonly string[];
  readonly tags: readonly string[];
}

const part = /\s+|(-)?(?:(path|heading|type|tag):)?("(?:[^"]*)"|"[^"]*$|[^\s"]+)/guy;

/** Reads a query with operators. @throws MortiseError `invalid_query` with the position of a syntax error */
export function parseSyntax(query: string): ParsedQuery {
  const words: string[] = [];
  const found = { required: [], excluded: [], path: [], heading: [], types: [], tags: [] } as Record<string, string[]>;
  part.lastIndex = 0;
  for (const match of query.matchAll(part)) {
    const [all, minus, operator, given] = match;
    if (given === undefined) continue;
    const position = match.index + all.length - given.length;
    if (given.startsWith('"') && (given.length === 1 || !given.endsWith('"'))) {
      throw syntaxError('has a quote that is not closed', position);
    }
    const isQuoted = given.startsWith('"');
    const text = isQuoted ? given.slice(1, -1) : given;
    if (text.trim() === '') throw syntaxError('has an empty phrase', position);
    if (operator !== undefined) {
      if (minus) throw syntaxError(`cannot exclude by ${operator}:`, match.index);
      found[operator === 'type' ? 'types' : operator === 'tag' ? 'tags' : operator]?.push(text);
    } else if (minus) found.excluded?.push(text);
    else {
      words.push(given);
      if (isQuoted) found.required?.push(text);
    }
  }
  const empty = /(?:^|\s)-?(?:path|heading|type|tag):(?=\s|$)/.exec(query);
  if (empty) throw syntaxError('has an operator without a value', empty.index);
  return { text: words.join(' '), ...found } as unknown as ParsedQuery;
}

function syntaxError(problem: string, position: number): Error {
  return kbError('invalid_query', { problem: `${problem} (position ${position})`, position });
}
