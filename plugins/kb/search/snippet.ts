import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { Snippet } from '../contract/kb.js';

const maxLength = 500;

interface Mark {
  readonly start: number;
  readonly end: number;
  readonly weight: number;
  readonly term: string;
}

interface Line {
  readonly start: number;
  readonly end: number;
}

/**
 * The lines of a chunk that match a query best, at most 500 characters.
 *
 * @param weights of the query's terms
 */
export function makeSnippet(
  analysis: TextAnalysis,
  content: string,
  startLine: number,
  weights: ReadonlyMap<string, number>,
): Snippet {
  const marks = marksOf(analysis, content, weights);
  const lines = linesOf(content);
  if (marks.length === 0) {
    const { text, last } = firstLines(content, lines);
    return { text, start_line: startLine, end_line: startLine + last, marks: [], heading_only: true };
  }
  const { first, last } = bestLines(lines, marks);
  const [from, to] = [lines[first]?.start ?? 0, lines[last]?.end ?? content.length];
  const cut = to - from > maxLength ? cutLine(from, to, marks) : { from, to };
  const prefix = cut.from > from ? '…' : '';
  const text = prefix + content.slice(cut.from, cut.to) + (cut.to < to ? '…' : '');
  const shift = prefix.length - cut.from;
  const shown = marks.filter(({ start, end }) => start >= cut.from && end <= cut.to);
  return {
    text,
    start_line: startLine + first,
    end_line: startLine + last,
    marks: shown.map(({ start, end }) => [start + shift, end + shift] as const),
  };
}

/** Matches, without those inside another one. Single characters count only where nothing longer matches. */
function marksOf(analysis: TextAnalysis, content: string, weights: ReadonlyMap<string, number>): readonly Mark[] {
  const all: Mark[] = [];
  const characters: Mark[] = [];
  for (const { term, start, end, class: kind } of analysis.analyse(content)) {
    const weight = weights.get(term);
    if (weight === undefined) continue;
    (kind === 'char' ? characters : all).push({ term, start, end, weight });
  }
  const marks = all.length > 0 ? all : characters;
  const outer: Mark[] = [];
  for (const mark of marks.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = outer.at(-1);
    if (last !== undefined && mark.start < last.end) {
      // Overlapping pairs of characters become one mark.
      if (mark.end > last.end) outer[outer.length - 1] = { ...last, end: mark.end, weight: last.weight + mark.weight };
    } else outer.push(mark);
  }
  return outer;
}

function linesOf(content: string): readonly Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let end = content.indexOf('\n'); end >= 0; end = content.indexOf('\n', start)) {
    lines.push({ start, end });
    start = end + 1;
  }
  lines.push({ start, end: content.length });
  return lines;
}

function firstLines(content: string, lines: readonly Line[]): { readonly text: string; readonly last: number } {
  let last = 0;
  while ((lines[last + 1]?.end ?? Number.POSITIVE_INFINITY) <= maxLength) last += 1;
  const text = content.slice(0, lines[last]?.end ?? 0);
  return text.length <= maxLength ? { text, last } : { text: `${cutAt(text, maxLength - 1)}…`, last };
}

/** The range of whole lines, not longer than a snippet, with the most weight of different terms; at least one line. */
function bestLines(lines: readonly Line[], marks: readonly Mark[]): { readonly first: number; readonly last: number } {
  const byLine = new Map<number, Mark[]>();
  let line = 0;
  for (const mark of marks) {
    while ((lines[line]?.end ?? Number.POSITIVE_INFINITY) < mark.end) line += 1;
    const own = byLine.get(line);
    if (own === undefined) byLine.set(line, [mark]);
    else own.push(mark);
  }
  let best = { first: 0, last: 0, weight: -1 };
  for (const first of byLine.keys()) {
    const seen = new Map<string, number>();
    const start = lines[first]?.start ?? 0;
    for (let last = first; last < lines.length; last += 1) {
      if (last > first && (lines[last]?.end ?? 0) - start > maxLength) break;
      const own = byLine.get(last);
      if (own === undefined) continue;
      for (const { term, weight } of own) seen.set(term, weight);
      const weight = [...seen.values()].reduce((sum, one) => sum + one, 0);
      if (weight > best.weight) best = { first, last, weight };
    }
  }
  return best;
}

/** The part of a long line with the most weight of different terms. */
function cutLine(from: number, to: number, marks: readonly Mark[]): { readonly from: number; readonly to: number } {
  const room = maxLength - 2;
  const inside = marks.filter(({ start, end }) => start >= from && end <= to);
  let best = { start: from, weight: -1 };
  for (const [index, { start }] of inside.entries()) {
    const seen = new Map<string, number>();
    for (let next = index; next < inside.length; next += 1) {
      const mark = inside[next] as Mark;
      if (mark.end - start > room - 60) break;
      seen.set(mark.term, mark.weight);
    }
    const weight = [...seen.values()].reduce((sum, one) => sum + one, 0);
    if (weight > best.weight) best = { start, weight };
  }
  const begin = Math.max(from, Math.min(best.start - 60, to - room));
  return { from: begin, to: Math.min(to, begin + room) };
}

/** Cuts without dividing a surrogate pair. */
function cutAt(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/u, '');
}
