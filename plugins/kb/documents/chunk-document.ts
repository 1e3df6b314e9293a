import { hash } from 'node:crypto';
import { type Block, type LineRange, markdownBlocks, plainTextBlocks } from './blocks.js';
import { type Lines, readLines } from './lines.js';

/** Sizes of chunks, in estimated tokens. */
export interface ChunkLimits {
  readonly maxTokens: number;
  readonly minTokens: number;
}

/** A run of whole lines of a document. */
export interface Chunk {
  readonly chunkId: string;
  /** The heading of the section with most of the text; null without one. */
  readonly heading: string | null;
  /** The headings from the outermost one down to `heading`. */
  readonly headingPath: readonly string[];
  /** From 1, both inclusive. */
  readonly startLine: number;
  readonly endLine: number;
  /** Exactly these lines, joined by line feeds. */
  readonly content: string;
  /** Hex SHA-256 of the content. */
  readonly contentHash: string;
  readonly tokens: number;
}

interface DocumentText {
  readonly repo: string;
  readonly path: string;
  readonly text: string;
  /** Lines of front matter, which are in no chunk. */
  readonly frontMatterLines: number;
}

/** A heading with what follows until the next one. */
interface Section extends LineRange {
  readonly heading: string | null;
  readonly headingPath: readonly string[];
  readonly blocks: readonly Block[];
  /** Tokens of its text without the heading. */
  readonly textTokens: number;
}

/** Consecutive sections that become one chunk, or several when they are too long. */
interface Group extends LineRange {
  readonly sections: readonly Section[];
}

type DraftSection = Pick<Section, 'heading' | 'headingPath' | 'textTokens'>;

/** A chunk before it has an identity. */
interface Draft extends LineRange {
  readonly sections: readonly DraftSection[];
}

const markdownName = /\.(?:md|mdx|markdown)$/i;

/** Divides a document into chunks at its headings and blocks. */
export function chunkDocument(document: DocumentText, limits: ChunkLimits): readonly Chunk[] {
  const lines = readLines(document.text);
  const first = document.frontMatterLines;
  const isMarkdown = markdownName.test(document.path);
  const blocks = isMarkdown ? markdownBlocks(lines, first) : plainTextBlocks(lines, first);
  const sections = sectionsOf(lines, blocks).filter(({ start, end }) => {
    const trimmed = lines.trim(start, end);
    return trimmed.end > trimmed.start;
  });
  return identify(document, lines, drafts(lines, sections, limits));
}

function sectionsOf(lines: Lines, blocks: readonly Block[]): readonly Section[] {
  const sections: Section[] = [];
  const path: { readonly level: number; readonly text: string }[] = [];
  const finish = (own: readonly Block[], heading: string | null): void => {
    const [begin, last] = [own[0], own.at(-1)];
    if (begin === undefined || last === undefined) return;
    const text = own[0]?.heading === undefined ? begin.start : begin.contentEnd;
    const trimmed = lines.trim(text, last.end);
    sections.push({
      start: begin.start,
      end: last.end,
      heading,
      headingPath: path.map((one) => one.text),
      blocks: own,
      textTokens: lines.tokens(trimmed.start, trimmed.end),
    });
  };
  let own: Block[] = [];
  let heading: string | null = null;
  for (const block of blocks) {
    if (block.heading !== undefined) {
      finish(own, heading);
      while ((path.at(-1)?.level ?? 0) >= block.heading.level) path.pop();
      path.push(block.heading);
      heading = block.heading.text;
      own = [];
    }
    own.push(block);
  }
  finish(own, heading);
  return sections;
}

function drafts(lines: Lines, sections: readonly Section[], limits: ChunkLimits): readonly Draft[] {
  const { groups, trailing } = withHeadingsJoined(sections);
  const fits = (start: number, end: number): boolean => {
    const range = lines.trim(start, end);
    return lines.tokens(range.start, range.end) <= limits.maxTokens;
  };
  const isSmall = ({ start, end }: LineRange): boolean => {
    const range = lines.trim(start, end);
    return lines.tokens(range.start, range.end) < limits.minTokens;
  };
  const found: Draft[] = [];
  for (let at = 0; at < groups.length; ) {
    let group = groups[at] as Group;
    at += 1;
    for (
      let next = groups[at];
      next !== undefined && isSmall(group) && fits(group.start, next.end);
      next = groups[at]
    ) {
      group = joined<Section>(group, next);
      at += 1;
    }
    const previous = found.at(-1);
    if (at === groups.length && isSmall(group) && previous !== undefined && fits(previous.start, group.end)) {
      found[found.length - 1] = joined<DraftSection>(previous, group);
    } else found.push(...(fits(group.start, group.end) ? [group] : divided(lines, group, limits.maxTokens)));
  }
  const last = found.at(-1);
  if (trailing !== undefined && last !== undefined) found[found.length - 1] = joined<DraftSection>(last, trailing);
  return found;
}

function joined<Part>(
  one: LineRange & { readonly sections: readonly Part[] },
  next: LineRange & { readonly sections: readonly Part[] },
): LineRange & { readonly sections: readonly Part[] } {
  return { start: one.start, end: next.end, sections: [...one.sections, ...next.sections] };
}

/** Headings without text join the section after them; `trailing` are those after the last text. */
function withHeadingsJoined(sections: readonly Section[]): {
  readonly groups: readonly Group[];
  readonly trailing: Group | undefined;
} {
  const groups: Group[] = [];
  let waiting: Section[] = [];
  for (const section of sections) {
    waiting.push(section);
    if (section.heading !== null && section.textTokens === 0) continue;
    groups.push({ start: (waiting[0] as Section).start, end: section.end, sections: waiting });
    waiting = [];
  }
  const [first, last] = [waiting[0], waiting.at(-1)];
  if (first === undefined || last === undefined) return { groups, trailing: undefined };
  const rest = { start: first.start, end: last.end, sections: waiting };
  // A document of headings alone is one chunk with its last heading.
  if (groups.length === 0) return { groups: [{ ...rest, sections: [last] }], trailing: undefined };
  return { groups, trailing: rest };
}

/** A range that is not divided further, and the section it is in. */
interface Piece extends LineRange {
  readonly section: Section;
  readonly isHeading: boolean;
}

/** Packs the blocks of a long group greedily, dividing those that are too long themselves. */
function divided(lines: Lines, group: Group, maxTokens: number): readonly Draft[] {
  const tooLong = (start: number, end: number): boolean => {
    const range = lines.trim(start, end);
    return lines.tokens(range.start, range.end) > maxTokens;
  };
  const pieces = group.sections.flatMap((section) =>
    section.blocks.flatMap((block): Piece[] => {
      const isHeading = block.heading !== undefined;
      const borders = tooLong(block.start, block.end) ? block.borders : [];
      const starts = [block.start, ...borders];
      return starts.map((start, index) => ({ start, end: starts[index + 1] ?? block.end, section, isHeading }));
    }),
  );
  const found: Piece[][] = [];
  let current: Piece[] = [];
  for (const piece of withHeadings(pieces)) {
    const start = current[0]?.start;
    if (start !== undefined && tooLong(start, piece.end)) {
      found.push(current);
      current = [];
    }
    current.push(piece);
  }
  if (current.length > 0) found.push(current);
  return found.map((own) => ({
    start: (own[0] as Piece).start,
    end: (own.at(-1) as Piece).end,
    sections: own.map(({ section, start, end }) => ({ ...section, textTokens: textOf(lines, section, start, end) })),
  }));
}

/** Tokens of the text of a section within a range. */
function textOf(lines: Lines, section: Section, start: number, end: number): number {
  const heading = section.blocks[0]?.heading === undefined ? section.start : section.blocks[0].contentEnd;
  const range = lines.trim(Math.max(start, heading), end);
  return lines.tokens(range.start, range.end);
}

/** Joins every heading to the piece after it. */
function withHeadings(pieces: readonly Piece[]): readonly Piece[] {
  const found: Piece[] = [];
  let start: number | undefined;
  for (const piece of pieces) {
    start ??= piece.start;
    if (piece.isHeading) continue;
    found.push({ ...piece, start });
    start = undefined;
  }
  const last = found.at(-1);
  if (start === undefined || last === undefined) return found.length > 0 ? found : pieces;
  found[found.length - 1] = { ...last, end: pieces.at(-1)?.end ?? last.end };
  return found;
}

function identify({ repo, path }: DocumentText, lines: Lines, found: readonly Draft[]): readonly Chunk[] {
  const seen = new Map<string, number>();
  return found.map((draft) => {
    const { start, end } = lines.trim(draft.start, draft.end);
    const { heading, headingPath } = mainSection(draft);
    const content = lines.slice(start, end);
    const contentHash = hash('sha256', content);
    const key = [repo, path, headingPath.join(' > '), contentHash].join('\0');
    const count = seen.get(key) ?? 0;
    seen.set(key, count + 1);
    return {
      chunkId: `chunk_${hash('sha256', `${key}\0${count}`).slice(0, 16)}`,
      heading,
      headingPath,
      startLine: start + 1,
      endLine: end,
      content,
      contentHash,
      tokens: lines.tokens(start, end),
    };
  });
}

/** The section with most of the text; pieces of one section count together. */
function mainSection({ sections }: Draft): Pick<Section, 'heading' | 'headingPath'> {
  const totals = new Map<readonly string[], { section: DraftSection; tokens: number }>();
  for (const section of sections) {
    const known = totals.get(section.headingPath);
    if (known) known.tokens += section.textTokens;
    else totals.set(section.headingPath, { section, tokens: section.textTokens });
  }
  let best: { section: DraftSection; tokens: number } | undefined;
  for (const one of totals.values()) if (best === undefined || one.tokens > best.tokens) best = one;
  return best?.section ?? { heading: null, headingPath: [] };
}
