import { kindAt, MARK, SEGMENTED, widthAt } from './character-kind.js';
import { cutLong, type TokenSink } from './token-sink.js';

/**
 * The dictionaries of these scripts do not depend on the language, but a fixed one makes the result independent of the
 * machine's locale.
 */
const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });

/**
 * Units passed to the segmenter at once. It takes as long for a window as for a run of ten characters, so a window
 * contains many runs; a longer run without a sign is cut, which limits memory.
 */
const WINDOW = 1024;

/** The end of a window: before a sign if possible, else before a character, else (only marks) anywhere. */
function windowBorder(text: string, start: number): number {
  const limit = start + WINDOW;
  if (limit >= text.length) return text.length;
  let beforeCharacter = limit;
  for (let at = limit; at > start; at -= 1) {
    const isSecondHalf = widthAt(text, at - 1) === 2;
    const kind = kindAt(text, at);
    if (isSecondHalf || kind === MARK) continue;
    if (kind !== SEGMENTED) return at;
    if (beforeCharacter === limit) beforeCharacter = at;
  }
  return beforeCharacter;
}

/** Returns the word borders in a run of segmented characters, including its end. Runs must be requested in order. */
type WordBorders = (start: number, end: number) => readonly number[];

/**
 * Returning a segment costs more than finding it, so only segments within the runs are requested: each time the one
 * around the second unit of the next word. If that is a later segment, the next word has one unit.
 */
export function createWordBorders(text: string): WordBorders {
  let segments = segmenter.segment('');
  let windowStart = 0;
  let windowEnd = 0;

  return (start, end) => {
    const found: number[] = [];
    for (let at = start; at < end; ) {
      if (at >= windowEnd) {
        windowStart = at;
        windowEnd = windowBorder(text, at);
        segments = segmenter.segment(text.slice(windowStart, windowEnd));
      }
      const { index, segment } = segments.containing(at + 1 - windowStart) ?? {
        index: at - windowStart,
        segment: text.charAt(at),
      };
      const wordStart = windowStart + index;
      if (wordStart > at && wordStart < end) found.push(wordStart);
      at = wordStart + segment.length;
      if (at < end) found.push(at);
    }
    found.push(end);
    return found;
  };
}

/** More marks than any script puts on a character; a longer sequence ends the run and is in no token. */
const MOST_MARKS = 16;

/** The starts of the characters (with their marks) of a run, and its end. */
function characterStarts(text: string, start: number): number[] {
  const starts: number[] = [];
  let at = start;
  for (let marks = 0; at < text.length; at += widthAt(text, at)) {
    const kind = kindAt(text, at);
    if (kind === SEGMENTED) {
      starts.push(at);
      marks = 0;
    } else if (kind !== MARK || marks === MOST_MARKS) break;
    else marks += 1;
  }
  starts.push(at);
  return starts;
}

/**
 * Adds the run of segmented characters at an offset and returns its end: its dictionary words, and every character and
 * pair of characters that is not such a word.
 */
export function addSegmented(sink: TokenSink, start: number, wordBorders: WordBorders): number {
  const { lower } = sink.folded;
  const starts = characterStarts(lower, start);
  const end = starts.at(-1) ?? start;
  const words = wordBorders(start, end);
  let word = 0;
  let wordStart = -1;
  let wordEnd = start;
  for (let index = 0; index + 1 < starts.length; index += 1) {
    const at = starts[index] ?? end;
    const afterOne = starts[index + 1] ?? end;
    const afterTwo = starts[index + 2] ?? end;
    if (at >= wordEnd) {
      while ((words[word] ?? end) <= at && word < words.length) word += 1;
      wordStart = at;
      wordEnd = words[word] ?? end;
      cutLong(lower, wordStart, wordEnd, (from, to) => sink.add('word', lower.slice(from, to), from, to));
    }
    const isWord = (to: number): boolean => at === wordStart && to === wordEnd;
    if (index + 2 < starts.length && !isWord(afterTwo)) sink.add('bigram', lower.slice(at, afterTwo), at, afterTwo);
    if (!isWord(afterOne)) sink.add('char', lower.slice(at, afterOne), at, afterOne);
  }
  return end;
}
