import { CAPITAL, kindAt, LETTER, MARK, NUMBER, widthAt } from './character-kind.js';
import { knownStem, stem } from './stem.js';
import { cutLong, LONGEST_TERM, type TokenSink } from './token-sink.js';

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

/** Offsets where letters meet digits, the end of the word included. */
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

/** Offsets where `camelCase` or `XMLParser` divides, the end included; the `s` of `URLs` is no part. */
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

/** Single letters that only a change of case or a digit sets apart would match everywhere and mean nothing. */
const SHORTEST_PART = 2;

/**
 * Adds one word of letters and digits, and where it is `camelCase` or mixes letters and digits the whole as an
 * identifier with its parts: `OAuth2` gives oauth2, oauth and auth. A word longer than a term may be is not divided
 * that way but cut (what is that long is data in letters, not a name).
 */
export function addWord(sink: TokenSink, start: number, end: number): void {
  const { cased, lower } = sink.folded;
  const word = cased.slice(start, end);
  const stemmed = knownStem(word);
  // Most words, and nothing in them divides.
  if (stemmed !== undefined) {
    addStemmed(sink, stemmed, word, start, end);
    return;
  }
  if (end - start > LONGEST_TERM) {
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
    if (groups.length > 1 && to - from >= SHORTEST_PART) addPlain(sink, from, to);
    const parts = caseBorders(cased, from, to);
    for (const part of parts.length > 1 ? parts : []) {
      if (part - from >= SHORTEST_PART) addPlain(sink, from, part);
      from = part;
    }
    from = to;
  }
}
