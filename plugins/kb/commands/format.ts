import { oneLine, type TextSpan } from 'mortise/sdk';
import type { ChunkDetails, Hit, KbStats, RefreshReport, SearchAnswer } from '../contract/kb.js';
import type { RepairReport } from '../index/repair-index.js';

/** A name on one line, whatever characters it has. */
export function nameLine(text: string): string {
  return oneLine(text.replace(ansi, ''));
}

/** Text of a document on a terminal: its own escapes and control characters are removed. */
export function plain(text: string): string {
  return text
    .split('\n')
    .map((line) => oneLine(line.replaceAll('\t', '  ').replace(ansi, '')))
    .join('\n');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escapes of terminals begin with a control character
const ansi = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|.)/g;

const number = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(4));

/** The hits of a search for people. */
export function formatSearch(
  answer: SearchAnswer,
  options: { readonly explain: boolean; readonly rootOf: (repo: string) => string | undefined },
): readonly TextSpan[] {
  if (answer.results.length === 0) return [{ text: formatEmpty(answer) }];
  const many = new Set(answer.results.map(({ repo }) => repo)).size > 1;
  const blocks = [
    ...answer.results.map((hit) => formatHit(hit, options, many)),
    ...(answer.notes ?? []).map((note): readonly TextSpan[] => [{ text: note, style: 'dim' }]),
  ];
  return blocks.flatMap((block, index) => (index === 0 ? block : [{ text: '\n\n' }, ...block]));
}

const reasons: Readonly<Record<string, string>> = {
  not_indexed: 'Nothing is indexed yet. Run: mortise kb refresh',
  no_searchable_terms: 'The query has no searchable words.',
  no_match: 'No passage matches.',
  filtered_out: 'Passages match, but none within the filters.',
};

function formatEmpty({ reason = 'no_match', suggestions = [] }: SearchAnswer): string {
  const close = suggestions.length > 0 ? `\nClose terms: ${suggestions.join(', ')}` : '';
  return `${reasons[reason] ?? reason} (${reason})${close}`;
}

function formatHit(
  hit: Hit,
  { explain, rootOf }: { readonly explain: boolean; readonly rootOf: (repo: string) => string | undefined },
  namesRepo: boolean,
): readonly TextSpan[] {
  const root = rootOf(hit.repo);
  const place = `${nameLine(hit.path)}:${hit.start_line}`;
  const file = root === undefined ? {} : { file: { path: `${root}/${hit.path}`, line: hit.start_line } };
  const repo = namesRepo ? `  [${hit.repo}]` : '';
  const dim = (text: string): TextSpan => ({ text: `\n   ${text}`, style: 'dim' });
  return [
    { text: `${hit.rank}.  ` },
    { text: place, style: 'strong', ...file },
    { text: `  ${hit.lines}${repo}  score ${number(hit.score)}` },
    ...(hit.heading_path.length > 0 ? [dim(plain(hit.heading_path.join(' > ')))] : []),
    ...(hit.stale ? [{ text: '\n   stale: the file has changed since it was indexed' }] : []),
    { text: '\n   | ' },
    ...(hit.content === undefined ? marked(hit) : [{ text: indented(plain(hit.content)) }]),
    ...(hit.snippet.heading_only ? [dim('(the heading or the path matches)')] : []),
    dim(nameLine(hit.evidence_ref)),
    ...(explain && hit.explanation ? formatExplanation(hit.explanation).map(dim) : []),
  ];
}

function indented(text: string): string {
  return text.replaceAll('\n', '\n   | ');
}

function marked({ snippet: { text, marks } }: Hit): readonly TextSpan[] {
  const spans: TextSpan[] = [];
  let end = 0;
  for (const [from, to] of marks) {
    spans.push(
      { text: indented(plain(text.slice(end, from))) },
      { text: indented(plain(text.slice(from, to))), style: 'mark' },
    );
    end = to;
  }
  return [...spans, { text: indented(plain(text.slice(end))) }];
}

/** The parts of a score under their field names, one per line. */
function formatExplanation(explanation: NonNullable<Hit['explanation']>): readonly string[] {
  const { matched_terms: matched, term_frequencies: frequencies, parts } = explanation;
  const lines = [
    `matched_terms: ${plain(matched.map((term) => `${term} (${frequencies[term] ?? 0})`).join(', '))}`,
    `bm25_score: ${number(explanation.bm25_score)}`,
    `parts: ${Object.entries(parts)
      .map(([name, value]) => `${name} ${number(value)}`)
      .join(' + ')} = text_score ${number(explanation.text_score)}`,
    `document_boost: ${number(explanation.document_boost)} (${explanation.doc_type})`,
    `recency_boost: ${number(explanation.recency_boost)} (${explanation.days} days)`,
  ];
  const expanded = explanation.terms.filter((term) => term.expanded_from !== undefined);
  for (const term of expanded) lines.push(`expanded_from: ${plain(term.expanded_from ?? '')} -> ${term.term}`);
  if (explanation.final_score === undefined) return lines;
  return [
    ...lines,
    ...(
      ['keyword_score', 'keyword_norm', 'vector_score', 'alpha', 'final_score', 'rerank_delta', 'final_rank'] as const
    ).map((name) => `${name}: ${explanation[name] === null ? 'none' : number(explanation[name] ?? 0)}`),
  ];
}

/** The figures of a refresh, one per line, and the files that are not indexed. */
export function formatRefresh(report: RefreshReport, isVerbose: boolean): string {
  const figures: readonly (readonly [string, number | string])[] = [
    ['Total files', report.total_files],
    ['Changed files', report.changed_files],
    ['Touched files', report.touched_files],
    ['Deleted files', report.deleted_files],
    ['Total chunks', report.total_chunks],
    ['New chunks', report.new_chunks],
    ['Deleted chunks', report.deleted_chunks],
    ['Skipped files', report.skipped_files],
    ['Errors', report.errors],
    ['Duration', `${(report.duration_ms / 1_000).toFixed(2)} s`],
  ];
  const shown = isVerbose ? report.failures : report.failures.slice(0, 20);
  const hidden = report.failures.length - shown.length;
  return [
    ...report.warnings.slice(0, isVerbose ? undefined : 20).map((warning) => `Warning: ${plain(warning)}`),
    ...figures.map(([name, value]) => `${name}: ${value}`),
    ...(report.embeddings ? [`Embeddings: ${formatEmbeddings(report.embeddings)}`] : []),
    ...shown.map(
      ({ path, reason, detail, status }) => `${status}: ${nameLine(path)}: ${reason}${detail ? ` (${detail})` : ''}`,
    ),
    ...(hidden > 0 ? [`${hidden} more; --verbose lists them all.`] : []),
  ].join('\n');
}

export function formatEmbeddings(report: { total: number; built: number; skipped: number; errors: number }): string {
  return `total ${report.total}, built ${report.built}, skipped ${report.skipped}, errors ${report.errors}`;
}

/** Coverage as `98.5% (197/200)`. */
export function formatCoverage({ embeddings: { total, contents, coverage } }: KbStats): string {
  return `${(Math.floor(coverage * 1_000) / 10).toFixed(1)}% (${total}/${contents})`;
}

/** @param file where the index is; absent for a caller who may not see it */
export function formatStats(stats: KbStats, file?: string): string {
  const repos = stats.repos.flatMap((repo) => [
    `Repo ${repo.name}: ${repo.files} files, ${repo.chunks} chunks, ${repo.errors} errors, ${repo.skipped} skipped`,
    ...Object.entries(repo.by_type).map(([type, count]) => `  ${type}: ${count}`),
  ]);
  return [
    `Schema version: ${stats.schema_version}`,
    `Index revision: ${stats.index_revision}`,
    `Last refresh: ${stats.last_refresh ?? 'never'}`,
    ...(file === undefined ? [] : [`Database path: ${file}`]),
    `Database size: ${(stats.database.bytes / 1_048_576).toFixed(2)} MiB`,
    ...repos,
    `Embedding coverage: ${formatCoverage(stats)}`,
  ].join('\n');
}

export function formatChunk(chunk: ChunkDetails, state: string): string {
  const explained = chunk.explanation
    ? ['', ...formatExplanation(chunk.explanation), `score: ${number(chunk.explanation.score)}`]
    : [];
  const rank = chunk.rank === undefined ? [] : [`rank: ${chunk.rank ?? 'not a candidate'}`];
  return [
    `${chunk.chunk_id}  ${state}${chunk.stale ? ', stale' : ''}`,
    `path: ${nameLine(chunk.path)}:${chunk.start_line}`,
    `lines: ${chunk.lines}`,
    `heading: ${plain(chunk.heading_path.join(' > ')) || '(none)'}`,
    `doc_type: ${chunk.doc_type}`,
    '',
    plain(chunk.content),
    ...explained,
    ...rank,
  ].join('\n');
}

export function formatRepair({ checks, needs_refresh: needs }: RepairReport): string {
  const rows = checks.map(({ name, found, repaired, remedy }) =>
    found === 0 ? `${name}: ok` : `${name}: ${found} found, ${repaired} repaired. ${remedy}`,
  );
  return (
    [...rows, ...(needs ? ['Files have to be indexed again: mortise kb refresh'] : [])].join('\n') ||
    'There is no index yet.'
  );
}
