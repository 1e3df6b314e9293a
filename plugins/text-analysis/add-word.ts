import { stemmer } from 'stemmer';
import { CAPITAL, kindAt, LETTER, MARK, NUMBER, widthAt } from './character-kind.js';
import { isStopWord } from './stop-words.js';
import { cutLong, MAX_TERM_LENGTH, type TokenSink } from './token-sink.js';

/** Single letters between digits or capitals would match everywhere. */
const MIN_PART_LENGTH = 2;

/**
 * Adds one word of letters and digits. A word in `camelCase`, or with letters and digits, is added as an identifier with
 * its parts: `OAuth2` gives oauth2, oauth and auth. A word longer than a term can be is cut into pieces instead, because
 * it is encoded data rather than a name.
 */
export function addWord(sink: TokenSink, start: number, end: number): void {
  const { cased, lower } = sink.folded;
  const word = cased.slice(start, end);
  const stemmed = stems.get(word);
  // The fast path: a cached word has only lower-case letters and no parts.
  if (stemmed !== undefined) {
    addStemmed(sink, stemmed, word, start, end);
    return;
  }
  if (end - start > MAX_TERM_LENGTH) {
    addPlain(sink, start, end);
    return;
  }
  const groups = digitBorders(cased, start, end);
  const isCamel = caseBorders(cased, start, groups[0] ?? end).length > 1;
  if (groups.length === 1 && !isCamel) {
    addPlain(sink, start, end);
    return;
  }
  sink.add('identifier', lower.slice(start, end), start, end);
  let from = start;
  for (const to of groups) {
    if (groups.length > 1 && to - from >= MIN_PART_LENGTH) addPlain(sink, from, to);
    const parts = caseBorders(cased, from, to);
    for (const part of parts.length > 1 ? parts : []) {
      if (part - from >= MIN_PART_LENGTH) addPlain(sink, from, part);
      from = part;
    }
    from = to;
  }
}

function addStemmed(sink: TokenSink, stemmed: string, word: string, start: number, end: number): void {
  sink.add('stem', stemmed, start, end);
  if (stemmed !== word) sink.add('raw', word, start, end);
}

function addPlain(sink: TokenSink, start: number, end: number): void {
  cutLong(sink.folded.lower, start, end, (from, to) => {
    const word = sink.folded.lower.slice(from, to);
    addStemmed(sink, stem(word), word, from, to);
  });
}

/** Offsets between letters and digits, and the end of the word. */
function digitBorders(cased: string, start: number, end: number): number[] {
  const borders: number[] = [];
  let wasNumber = kindAt(cased, start) === NUMBER;
  for (let at = start; at < end; at += widthAt(cased, at)) {
    const kind = kindAt(cased, at);
    if (kind === MARK || (kind === NUMBER) === wasNumber) continue;
    borders.push(at);
    wasNumber = !wasNumber;
  }
  borders.push(end);
  return borders;
}

/** Offsets where `camelCase` or `XMLParser` divides, and the end; the `s` of `URLs` is not a part. */
function caseBorders(cased: string, start: number, end: number): number[] {
  const borders: number[] = [];
  let before = start;
  let beforeKind = kindAt(cased, start);
  for (let at = start + widthAt(cased, start); at < end; at += widthAt(cased, at)) {
    const kind = kindAt(cased, at);
    if (kind === MARK) continue;
    if (kind === CAPITAL && beforeKind !== CAPITAL) borders.push(at);
    const isPlural = cased[at] === 's' && at + 1 === end;
    if (kind === LETTER && beforeKind === CAPITAL && before > start && before !== borders.at(-1) && !isPlural) {
      borders.push(before);
    }
    before = at;
    beforeKind = kind;
  }
  borders.push(end);
  return borders;
}

/** Longer words are not English and are not stemmed. */
const MAX_STEMMED = 40;

/** Cached stems: the stemmer takes about 1 µs per word, and texts repeat words. The cache is cleared when full. */
const MAX_CACHED = 20_000;
const stems = new Map<string, string>();

/**
 * The Porter stem of a lower-case English word; any other word unchanged. Stop words are unchanged too, so that `does` is
 * not confused with `doe`.
 */
function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (word.length > MAX_STEMMED || !/^[a-z]+$/.test(word)) return word;
  if (stems.size >= MAX_CACHED) stems.clear();
  const result = isStopWord(word) ? word : stemmer(word);
  stems.set(word, result);
  return result;
}
