import { hash } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import type Database from 'better-sqlite3';
import type { ChunkDetails, EvidenceAnswer, KbStats } from '../contract/kb.js';
import { decodeBytes } from '../documents/decode-bytes.js';
import { formatEvidenceRef, leavesItsRoot, lineRange, parseEvidenceRef } from '../documents/evidence-ref.js';
import { readLines } from '../documents/lines.js';
import { kbError } from '../errors.js';
import type { EmbedderId } from './embeddings.js';
import type { IndexFile, IntegrityCheck } from './open-index.js';
import { schemaVersion } from './schema.js';
import { decodeStream, termFrequencies } from './token-stream.js';

export interface ChunkQuery {
  readonly chunkId: string;
  readonly terms: boolean;
}

interface ChunkRow {
  readonly id: number;
  readonly chunk_id: string;
  readonly repo: string;
  readonly root: string;
  readonly path: string;
  readonly source: number;
  readonly source_id: string;
  readonly doc_type: string;
  readonly tags: string;
  readonly mtime: number;
  readonly bytes: number;
  readonly mtime_ns: string;
  readonly file_hash: string | null;
  readonly status: string;
  readonly heading: string | null;
  readonly heading_path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly content: string;
  readonly content_hash: Uint8Array;
  readonly tokens: number;
  readonly stream: Uint8Array;
}

const chunkColumns = `select kb_chunks.id, chunk_id, kb_repos.name as repo, root, path, source, source_id, doc_type, tags, mtime,
  bytes, mtime_ns, file_hash, status, heading, heading_path, start_line, end_line, content, content_hash, tokens, stream
  from kb_chunks join kb_sources on kb_sources.id = source join kb_repos on kb_repos.id = kb_sources.repo`;

/** A chunk as stored. @throws MortiseError `chunk_not_found` */
export function readChunkDetails(database: Database, { chunkId, terms }: ChunkQuery): ChunkDetails {
  const row = database.prepare(`${chunkColumns} where chunk_id = ?`).get([chunkId]) as ChunkRow | undefined;
  if (row === undefined) throw kbError('chunk_not_found', { chunk_id: chunkId });
  const details = toDetails(database, row);
  return terms ? { ...details, terms: termsOf(database, row), vectors: vectorsOf(database, row) } : details;
}

function toDetails(database: Database, row: ChunkRow): ChunkDetails {
  const range = { startLine: row.start_line, endLine: row.end_line };
  const neighbour = (condition: string): string | null =>
    (database
      .prepare(`select chunk_id from kb_chunks where source = ? and ${condition} limit 1`)
      .pluck()
      .get([row.source, row.start_line]) as string | undefined) ?? null;
  return {
    chunk_id: row.chunk_id,
    repo: row.repo,
    path: row.path,
    source_id: row.source_id,
    doc_type: row.doc_type,
    tags: JSON.parse(row.tags) as string[],
    mtime: new Date(row.mtime).toISOString(),
    heading: row.heading,
    heading_path: JSON.parse(row.heading_path) as string[],
    lines: lineRange(range),
    start_line: row.start_line,
    end_line: row.end_line,
    content: row.content,
    content_hash: Buffer.from(row.content_hash).toString('hex'),
    tokens: row.tokens,
    evidence_ref: formatEvidenceRef({ chunkId: row.chunk_id, path: row.path, ...range }),
    ...(isChanged(row) ? { stale: true as const } : {}),
    previous_chunk_id: neighbour('start_line < ? order by start_line desc'),
    next_chunk_id: neighbour('start_line > ? order by start_line'),
  };
}

function isChanged(row: ChunkRow): boolean {
  if (row.status === 'stale') return true;
  try {
    const stats = statSync(join(row.root, row.path), { bigint: true });
    return stats.size !== BigInt(row.bytes) || String(stats.mtimeNs) !== row.mtime_ns;
  } catch {
    return true;
  }
}

function termsOf(database: Database, row: ChunkRow): Readonly<Record<string, number>> {
  const name = database.prepare('select term from kb_terms where id = ?').pluck();
  const terms = [...termFrequencies(decodeStream(row.stream))].map(([id, tf]) => [String(name.get([id])), tf] as const);
  return Object.fromEntries(terms.sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)));
}

function vectorsOf(database: Database, row: ChunkRow): NonNullable<ChunkDetails['vectors']> {
  return database
    .prepare('select embedder, model, dimensions from kb_embeddings where content_hash = ? order by 1, 2, 3')
    .all([row.content_hash]) as never;
}

/** What a ref cites now. @throws MortiseError `invalid_evidence_ref`, `repo_not_found` */
export function resolveEvidence(
  database: Database | undefined,
  text: string,
  repos: readonly string[],
  chosen: string | undefined,
): EvidenceAnswer {
  const ref = parseEvidenceRef(text);
  if (ref === undefined) throw kbError('invalid_evidence_ref');
  if (database === undefined) return { ref: text, state: 'missing' };
  const row = database.prepare(`${chunkColumns} where chunk_id = ?`).get([ref.chunkId]) as ChunkRow | undefined;
  const isChosen = row !== undefined && row.path === ref.path && (chosen === undefined || row.repo === chosen);
  if (!isChosen) {
    const wanted = chosen === undefined ? repos : [chosen];
    const find = database.prepare(
      `select kb_repos.name from kb_sources join kb_repos on kb_repos.id = repo
       where path = ? and kb_repos.name = ? and status in ('indexed', 'stale')`,
    );
    const isThere = wanted.some((repo) => find.get([ref.path, repo]) !== undefined);
    return { ref: text, state: isThere ? 'changed' : 'missing' };
  }
  const chunk = toDetails(database, row);
  const isSame = chunk.start_line === ref.startLine && chunk.end_line === ref.endLine;
  const onDisk = linesOnDisk(row);
  const place = { chunk, start_line: chunk.start_line, end_line: chunk.end_line };
  if (onDisk === undefined) return { ref: text, state: 'changed', lines: chunk.content, ...place };
  return { ref: text, state: isSame ? 'current' : 'moved', lines: onDisk, ...place };
}

/** The lines of a chunk in the file; undefined when the file is not the one that was indexed. */
function linesOnDisk(row: ChunkRow): string | undefined {
  try {
    const bytes = readFileSync(join(row.root, row.path));
    if (hash('sha256', bytes) !== row.file_hash) return undefined;
    const decoded = decodeBytes(bytes);
    return 'text' in decoded ? readLines(decoded.text).slice(row.start_line - 1, row.end_line) : undefined;
  } catch {
    return undefined;
  }
}

export interface SourcesQuery {
  readonly repo: string;
  readonly status?: string;
  readonly docType?: string;
  readonly pathPrefix?: string;
  readonly limit: number;
  /** The path after which the page begins. */
  readonly after: string;
}

export interface SourceItem {
  readonly source_id: string;
  readonly repo: string;
  readonly path: string;
  readonly doc_type: string;
  readonly tags: readonly string[];
  readonly title: string | null;
  readonly bytes: number;
  readonly mtime: string;
  readonly file_hash: string | null;
  readonly chunks: number;
  readonly status: string;
  readonly reason?: string;
  readonly detail?: string;
  readonly indexed_at: string | null;
}

/** Sources by path. */
export function readSources(
  database: Database,
  query: SourcesQuery,
): { readonly items: readonly SourceItem[]; readonly next: string | null } {
  const conditions = ['kb_repos.name = ?', 'path > ?'];
  const bindings: unknown[] = [query.repo, query.after];
  if (query.status !== undefined) conditions.push('status = ?') && bindings.push(query.status);
  if (query.docType !== undefined) conditions.push('doc_type = ?') && bindings.push(query.docType);
  if (query.pathPrefix !== undefined)
    conditions.push('substr(path, 1, ?) = ?') && bindings.push([...query.pathPrefix].length, query.pathPrefix);
  const rows = database
    .prepare(
      `select source_id, kb_repos.name as repo, path, doc_type, tags, title, bytes, mtime, file_hash,
        (select count(*) from kb_chunks where source = kb_sources.id) as chunks, status, reason, detail, indexed_at
       from kb_sources join kb_repos on kb_repos.id = repo where ${conditions.join(' and ')} order by path limit ?`,
    )
    .all([...bindings, query.limit + 1]) as (Omit<SourceItem, 'tags' | 'mtime' | 'indexed_at'> & {
    readonly tags: string;
    readonly mtime: number;
    readonly indexed_at: number | null;
    readonly reason: string | null;
    readonly detail: string | null;
  })[];
  const items = rows.slice(0, query.limit).map(({ tags, mtime, indexed_at: at, reason, detail, ...rest }) => ({
    ...rest,
    tags: JSON.parse(tags) as string[],
    mtime: new Date(mtime).toISOString(),
    indexed_at: at === null ? null : new Date(at).toISOString(),
    ...(reason === null ? {} : { reason }),
    ...(detail === null ? {} : { detail }),
  }));
  return { items, next: rows.length > query.limit ? (items.at(-1)?.path ?? null) : null };
}

/** Counts of some repos, of the whole index without one; zero without an index. */
export function readStats(
  index: IndexFile | undefined,
  repos: readonly string[],
  embedder: EmbedderId | undefined,
): KbStats {
  const database = index?.database;
  const numberOf = (sql: string, bindings: readonly unknown[] = []): number =>
    database === undefined ? 0 : Number(database.prepare(sql).pluck().get(bindings) ?? 0);
  const isAll = repos.length === 0;
  const chunks = isAll
    ? 'kb_chunks'
    : `kb_chunks where source in (select kb_sources.id from kb_sources join kb_repos on kb_repos.id = repo
         where kb_repos.name in (select value from json_each(?)))`;
  const within = isAll ? [] : [JSON.stringify(repos)];
  const distinct = numberOf(`select count(distinct content_hash) from ${chunks}`, within);
  const built =
    embedder === undefined
      ? 0
      : numberOf(
          `select count(*) from kb_embeddings where embedder = ? and model = ? and dimensions = ?
           ${isAll ? '' : `and content_hash in (select content_hash from ${chunks})`}`,
          [embedder.embedder, embedder.model, embedder.dimensions, ...within],
        );
  const refreshed = numberOf('select max(last_refresh) from kb_repos');
  return {
    schema_version: schemaVersion,
    index_revision: numberOf('select max(revision) from kb_repos'),
    last_refresh: refreshed === 0 ? null : new Date(refreshed).toISOString(),
    database: { path_kind: 'data_dir', bytes: index === undefined ? 0 : bytesOf(index.file) },
    repos: repos.map((name) => repoStats(database, name)),
    embeddings: {
      embedder: embedder?.embedder ?? null,
      model: embedder?.model ?? null,
      dimensions: embedder?.dimensions ?? null,
      total: built,
      contents: distinct,
      coverage: distinct === 0 ? 0 : built / distinct,
    },
  };
}

function repoStats(database: Database | undefined, name: string): KbStats['repos'][number] {
  if (database === undefined) return { name, files: 0, chunks: 0, by_type: {}, errors: 0, skipped: 0 };
  const rows = database
    .prepare(
      `select doc_type, status, count(*) as files, coalesce(sum(n), 0) as chunks from (
         select doc_type, status, (select count(*) from kb_chunks where source = kb_sources.id) as n
         from kb_sources join kb_repos on kb_repos.id = repo where kb_repos.name = ?) group by doc_type, status`,
    )
    .all([name]) as { doc_type: string; status: string; files: number; chunks: number }[];
  const sum = (matches: (row: (typeof rows)[number]) => boolean): number =>
    rows.filter(matches).reduce((total, { files }) => total + files, 0);
  const isIndexed = ({ status }: { status: string }): boolean => status === 'indexed' || status === 'stale';
  const types: Record<string, number> = {};
  for (const row of rows.filter(isIndexed)) types[row.doc_type] = (types[row.doc_type] ?? 0) + row.files;
  return {
    name,
    files: sum(isIndexed),
    chunks: rows.reduce((total, { chunks }) => total + chunks, 0),
    by_type: types,
    errors: sum(({ status }) => status === 'error' || status === 'stale'),
    skipped: sum(({ status }) => status === 'skipped'),
  };
}

function bytesOf(file: string): number {
  return ['', '-wal'].reduce((sum, suffix) => {
    try {
      return sum + statSync(`${file}${suffix}`).size;
    } catch {
      return sum;
    }
  }, 0);
}

/** Measured facts about the index for a health check. */
export function healthOf(index: IndexFile | undefined, repos: readonly string[], check: () => IntegrityCheck) {
  if (index === undefined) {
    const checkedAt = Date.now();
    return {
      fts5: true,
      schema: true,
      integrity: true,
      orphans: 0,
      staleness: repos.length,
      lagSeconds: null,
      checkedAt,
    };
  }
  const { isIntact, at: checkedAt } = check();
  const { database } = index;
  const orphans = Number(
    database.prepare('select count(*) from kb_chunks where source not in (select id from kb_sources)').pluck().get([]),
  );
  const oldest = database
    .prepare('select min(last_refresh) from kb_repos where name in (select value from json_each(?))')
    .pluck()
    .get([JSON.stringify(repos)]) as number | null;
  return {
    fts5: true,
    schema: true,
    integrity: isIntact,
    orphans,
    staleness: Number(database.prepare("select count(*) from kb_sources where status = 'stale'").pluck().get([])),
    lagSeconds: oldest === null ? null : Math.round((Date.now() - oldest) / 1_000),
    checkedAt,
  };
}

/** Lines to read: those of a ref, or of an indexed path. */
export interface LinesQuery {
  readonly ref: string | undefined;
  readonly path: string | undefined;
  readonly startLine: number | undefined;
  readonly endLine: number | undefined;
  readonly repo: string | undefined;
  /** Lines before and after. */
  readonly context: number;
}

export interface IndexedLines {
  readonly repo: string;
  readonly path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly lines: readonly string[];
  readonly state: EvidenceAnswer['state'];
}

const maxLines = 2_000;

/**
 * Reads lines of an indexed source. Only a path in the index is opened, and only within its repo's real folder.
 *
 * @throws MortiseError `source_not_found`, `invalid_evidence_ref`, `invalid_request`
 */
export function readIndexedLines(
  database: Database,
  query: LinesQuery & { readonly repos: readonly string[] },
): IndexedLines {
  const evidence = query.ref === undefined ? undefined : resolveEvidence(database, query.ref, query.repos, query.repo);
  const path =
    evidence?.chunk?.path ?? (query.ref === undefined ? query.path : parseEvidenceRef(query.ref)?.path) ?? '';
  if (leavesItsRoot(path))
    throw kbError('invalid_request', { field: 'path', problem: 'must be relative to the repo and stay inside it' });
  const find = database.prepare(
    `select kb_repos.name as repo, root, path, file_hash from kb_sources join kb_repos on kb_repos.id = repo
     where path = ? and kb_repos.name = ? and status in ('indexed', 'stale')`,
  );
  const repos = evidence?.chunk ? [evidence.chunk.repo] : query.repos;
  const source = repos.map((repo) => find.get([path, repo])).find((row) => row !== undefined) as
    | { readonly repo: string; readonly root: string; readonly path: string; readonly file_hash: string | null }
    | undefined;
  if (source === undefined || evidence?.state === 'missing') throw kbError('source_not_found', { path });
  const cited = query.ref === undefined ? undefined : parseEvidenceRef(query.ref);
  const first = Math.max(1, (evidence?.start_line ?? cited?.startLine ?? query.startLine ?? 1) - query.context);
  const last = (evidence?.end_line ?? cited?.endLine ?? query.endLine ?? first + maxLines - 1) + query.context;
  if (last < first) throw kbError('invalid_request', { field: 'end_line', problem: 'must not be before start_line' });
  const read = readConfined(source.root, source.path);
  if (read === undefined) {
    const chunk = evidence?.chunk;
    if (chunk === undefined) throw kbError('source_not_found', { path });
    const lines = chunk.content.split('\n');
    return { repo: chunk.repo, path, start_line: chunk.start_line, end_line: chunk.end_line, lines, state: 'changed' };
  }
  const lines = readLines(read.text);
  const end = Math.min(last, lines.count, first + maxLines - 1);
  const isSame = read.hash === source.file_hash;
  return {
    repo: source.repo,
    path,
    start_line: first,
    end_line: end,
    lines: Array.from({ length: Math.max(0, end - first + 1) }, (_, index) => lines.text(first - 1 + index)),
    state: evidence?.state ?? (isSame ? 'current' : 'changed'),
  };
}

/** The text of a file inside a folder; undefined when it is gone, is not text, or leaves the folder through a link. */
function readConfined(root: string, path: string): { readonly text: string; readonly hash: string } | undefined {
  try {
    const realRoot = realpathSync(root);
    const real = realpathSync(join(root, path));
    if (!real.startsWith(realRoot + sep)) return undefined;
    const bytes = readFileSync(real);
    const decoded = decodeBytes(bytes);
    return 'text' in decoded ? { text: decoded.text, hash: hash('sha256', bytes) } : undefined;
  } catch {
    return undefined;
  }
}
