import MarkdownIt from 'markdown-it';
import type { Lines } from './lines.js';

/** A half-open range of line indexes. */
export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** A top-level block of a document, extended to the start of the next one. */
export interface Block extends LineRange {
  /** The line after its own text. */
  readonly contentEnd: number;
  /** Present for headings. */
  readonly heading?: { readonly level: number; readonly text: string };
  /** Where the block may be divided: starts of list items, table rows or lines; the block's own start is not included. */
  readonly borders: readonly number[];
}

/** The block phase alone: inline content is not parsed. HTML blocks are recognised and remain text. */
const parser = new MarkdownIt('commonmark', { html: true }).enable('table');

/** The members of a parser token that are used. */
interface Token {
  readonly type: string;
  readonly tag: string;
  readonly level: number;
  readonly nesting: number;
  readonly map: [number, number] | null;
  readonly content: string;
}

function parse(text: string): Token[] {
  const tokens: Parameters<typeof parser.block.parse>[3] = [];
  parser.block.parse(text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text, parser, {}, tokens);
  return tokens;
}

/** Line starts at which each kind of block may be divided; what is not listed stays whole. */
function bordersOf(tokens: readonly Token[], index: number, range: LineRange): readonly number[] {
  const { type } = tokens[index] as Token;
  if (type === 'paragraph_open') {
    return Array.from({ length: Math.max(0, range.end - range.start - 1) }, (_, line) => range.start + line + 1);
  }
  const inner = type === 'table_open' ? 'tr_open' : /_list_open$/.test(type) ? 'list_item_open' : undefined;
  if (inner === undefined) return [];
  const level = type === 'table_open' ? 2 : 1;
  const starts: number[] = [];
  for (let at = index + 1; at < tokens.length; at += 1) {
    const token = tokens[at] as Token;
    if (token.level === 0) break;
    const start = token.map?.[0];
    if (token.type === inner && token.level === level && start !== undefined && start > range.start) starts.push(start);
  }
  return starts;
}

function headingOf(tokens: readonly Token[], index: number): Block['heading'] {
  const token = tokens[index] as Token;
  if (token.type !== 'heading_open') return undefined;
  const text = (tokens[index + 1]?.content ?? '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ');
  return { level: Number(token.tag.slice(1)), text: text.trim() };
}

/** The top-level blocks of CommonMark text with GFM tables, from the line `first` on. Together they cover its lines. */
export function markdownBlocks(lines: Lines, first: number): readonly Block[] {
  const tokens = parse(lines.slice(first, lines.count));
  const found: Block[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.level !== 0 || token.nesting === -1 || !token.map) continue;
    const range = { start: token.map[0], end: token.map[1] };
    const heading = headingOf(tokens, index);
    const shifted = { start: range.start + first, end: range.end + first };
    const borders = bordersOf(tokens, index, range).map((border) => border + first);
    found.push({ ...shifted, contentEnd: shifted.end, borders, ...(heading ? { heading } : {}) });
  }
  return covering(found, first, lines.count);
}

/** Paragraphs between blank lines; each may be divided between its lines. */
export function plainTextBlocks(lines: Lines, first: number): readonly Block[] {
  const found: Block[] = [];
  let start = -1;
  for (let line = first; line <= lines.count; line += 1) {
    const isText = line < lines.count && !lines.isBlank(line);
    if (isText && start < 0) start = line;
    if (isText || start < 0) continue;
    const from = start;
    found.push({
      start,
      end: line,
      contentEnd: line,
      borders: Array.from({ length: line - start - 1 }, (_, index) => from + index + 1),
    });
    start = -1;
  }
  return covering(found, first, lines.count);
}

/** Extends blocks over the lines between them: blank lines and link definitions. */
function covering(blocks: readonly Block[], first: number, end: number): readonly Block[] {
  if (blocks.length === 0) return first < end ? [{ start: first, end, contentEnd: end, borders: [] }] : [];
  return blocks.map((block, index) => ({
    ...block,
    start: index === 0 ? first : block.start,
    end: blocks[index + 1]?.start ?? end,
  }));
}
