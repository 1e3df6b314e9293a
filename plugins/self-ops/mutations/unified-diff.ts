import { createHash } from 'node:crypto';
import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import { canonicalJson, redactSecrets } from 'mortise/sdk';
import type { Draft } from './mutation.js';
import { maskLine, maskSecrets } from './secrets.js';

/** Lines around a change. */
const context = 3;
/** The time after which two texts are compared as a whole: the search for the shortest difference is quadratic. */
const diffTimeMs = 200;

/** The difference of a document for people, secrets masked; empty when nothing changed. */
export function unifiedDiff({ path, kind, before, after }: Draft): string {
  const isText = kind === 'text';
  const [old, next] = isText
    ? [String(before ?? ''), String(after ?? '')]
    : [documentText(maskSecrets(before)), documentText(maskSecrets(after, before))];
  const hunks = hunksOf(old, next);
  if (hunks.length === 0) return '';
  const shown = hunks.map((hunk) => ({ ...hunk, lines: isText ? hunk.lines.map(maskDiffLine) : hunk.lines }));
  const patch = { oldFileName: `a/${path}`, newFileName: `b/${path}`, oldHeader: undefined, newHeader: undefined };
  return redactSecrets(formatPatch({ ...patch, hunks: shown }, FILE_HEADERS_ONLY));
}

/** The lines of two texts that differ, without their marks. */
export function changedLines(before: string, after: string): readonly string[] {
  const lines = hunksOf(before, after).flatMap((hunk) => hunk.lines);
  return lines.filter((line) => line.startsWith('+') || line.startsWith('-')).map((line) => line.slice(1));
}

function hunksOf(before: string, after: string): readonly StructuredPatchHunk[] {
  if (before === after) return [];
  const options = { context, timeout: diffTimeMs };
  return structuredPatch('', '', before, after, undefined, undefined, options)?.hunks ?? [wholeHunk(before, after)];
}

function wholeHunk(before: string, after: string): StructuredPatchHunk {
  const [old, next] = [linesOf(before, '-'), linesOf(after, '+')];
  const [oldLines, newLines] = [countOf(old), countOf(next)];
  return {
    oldStart: oldLines === 0 ? 0 : 1,
    oldLines,
    newStart: newLines === 0 ? 0 : 1,
    newLines,
    lines: [...old, ...next],
  };
}

const noNewline = '\\ No newline at end of file';

function linesOf(text: string, sign: string): readonly string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  const isEnded = lines.at(-1) === '';
  if (isEnded) lines.pop();
  return [...lines.map((line) => sign + line), ...(isEnded ? [] : [noNewline])];
}

function countOf(lines: readonly string[]): number {
  return lines.filter((line) => line !== noNewline).length;
}

function maskDiffLine(line: string): string {
  return line.startsWith('\\') ? line : line.charAt(0) + maskLine(line.slice(1), line.startsWith('+'));
}

/** A document as text: two spaces, members sorted. */
function documentText(document: unknown): string {
  return `${JSON.stringify(JSON.parse(canonicalJson(document)), null, 2)}\n`;
}

/** Hex SHA-256 of a text or of a document's text; empty for a file that does not exist. */
export function contentHash(kind: Draft['kind'], content: unknown): string {
  if (content === undefined) return '';
  const text = kind === 'text' ? String(content) : documentText(content).trimEnd();
  return createHash('sha256').update(text).digest('hex');
}
