import { addWord } from './add-word.js';
import { CAPITAL, kindAt, LETTER, MARK, NUMBER, SEPARATOR, widthAt } from './character-kind.js';
import { MAX_TERM_LENGTH, type TokenSink } from './token-sink.js';

/** What can join two words into a name, by binding level: a path is divided first, then dotted parts, then words. */
const CONNECTORS: readonly { readonly text: string; readonly level: number }[] = [
  { text: '://', level: 0 },
  { text: '::', level: 0 },
  { text: '->', level: 0 },
  ...['/', '\\', ':', '@', '#', '~', '&', '+', '='].map((text) => ({ text, level: 0 })),
  { text: '.', level: 1 },
  { text: '-', level: 2 },
  { text: '_', level: 2 },
  { text: '__', level: 2 },
  { text: "'", level: 2 },
];
const LOOSEST = 0;
const TIGHTEST = 2;
const FIRST_UNITS = new Set(CONNECTORS.map(({ text }) => text.charCodeAt(0)));

/** What follows the apostrophe of `user's` or `don't`; not a word of its own. */
const CONTRACTED = new Set(['s', 't', 're', 've', 'll', 'd', 'm']);

/** Whether a lower-case word after an apostrophe is only a contraction. */
export function isContraction(word: string): boolean {
  return CONTRACTED.has(word);
}

/** A word of a name: its range, its end with attached signs (`C++`), and the level of its connector. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly signedEnd: number;
  readonly level: number;
}

/** Whether a character of this kind is part of a word. */
export function isWordKind(kind: number): boolean {
  return kind === LETTER || kind === CAPITAL || kind === NUMBER;
}

function isWordStart(text: string, at: number): boolean {
  return isWordKind(kindAt(text, at));
}

function wordEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (!isWordKind(kind) && kind !== MARK) break;
    at += widthAt(text, at);
  }
  return at;
}

function connectorAt(text: string, at: number): { readonly next: number; readonly level: number } | undefined {
  if (!FIRST_UNITS.has(text.charCodeAt(at))) return undefined;
  for (const { text: connector, level } of CONNECTORS) {
    const next = at + connector.length;
    if (text.startsWith(connector, at) && isWordStart(text, next)) return { next, level };
  }
  return undefined;
}

/** The end of a word including the signs of `C++` or `C#`. */
function signedEnd(cased: string, start: number, end: number): number {
  if (cased.startsWith('++', end) && !isWordStart(cased, end + 2)) return end + 2;
  const isSharp = cased[end] === '#' && end - start === 1;
  return isSharp && kindAt(cased, end + 1) === SEPARATOR ? end + 1 : end;
}

function readPart(cased: string, start: number, level: number): Part {
  const end = wordEnd(cased, start);
  return { start, end, signedEnd: signedEnd(cased, start, end), level };
}

function addWhole(sink: TokenSink, start: number, end: number): void {
  if (end - start <= MAX_TERM_LENGTH) sink.add('identifier', sink.folded.lower.slice(start, end), start, end);
}

/** Adds the parts from `first` to before `last`, each group preceded by the group as a whole. */
function addParts(sink: TokenSink, parts: readonly Part[], first: number, last: number, level: number): void {
  const begin = parts[first];
  const finish = parts[last - 1];
  if (begin === undefined || finish === undefined) return;
  if (begin === finish) {
    if (begin.signedEnd > begin.end) addWhole(sink, begin.start, begin.signedEnd);
    addWord(sink, begin.start, begin.end);
    return;
  }
  const borders: number[] = [];
  let divides = level;
  for (; borders.length === 0 && divides <= TIGHTEST; divides += 1) {
    for (let index = first + 1; index < last; index += 1) if (parts[index]?.level === divides) borders.push(index);
  }
  addWhole(sink, begin.start, finish.signedEnd);
  let from = first;
  for (const to of [...borders, last]) {
    addParts(sink, parts, from, to, divides);
    from = to;
  }
}

/** Adds the name at an offset, a word or words joined by connectors, and returns its end. */
export function addName(sink: TokenSink, start: number): number {
  const { cased, lower } = sink.folded;
  const parts: Part[] = [];
  let end = start;
  let joint: { readonly next: number; readonly level: number } | undefined = { next: start, level: LOOSEST };
  while (joint !== undefined) {
    const part = readPart(cased, joint.next, joint.level);
    const contracted = joint.next > start && cased[end] === "'" && isContraction(lower.slice(part.start, part.end));
    if (!contracted) parts.push(part);
    end = contracted ? part.end : part.signedEnd;
    joint = connectorAt(cased, end);
  }
  addParts(sink, parts, 0, parts.length, LOOSEST);
  return end;
}
