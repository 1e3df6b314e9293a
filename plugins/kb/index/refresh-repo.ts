import { hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { RefreshReport, SourceFailure } from '../contract/kb.js';
import type { ChunkLimits } from '../documents/chunk-document.js';
import { createDocTypes, type DocTypeRule } from '../documents/doc-type.js';
import { kbError } from '../errors.js';
import { commitTimes } from '../scan/commit-times.js';
import { type ReadOutcome, readSource } from '../scan/read-file.js';
import { isBelow, type Scan, type ScannedFile, type ScanRules, scanRepo } from '../scan/scan-repo.js';
import { takeLease } from './lease.js';
import { type IndexFile, toUnavailable } from './open-index.js';
import { prepareDocument } from './prepare-document.js';
import { chunkingVersion } from './schema.js';
import { createSourceWriter, type SourceFacts, type SourceWriter } from './write-source.js';

/** What is indexed and how. */
export interface RepoConfig {
  readonly name: string;
  /** Absolute. */
  readonly root: string;
  readonly rules: ScanRules;
  readonly maxFileBytes: number;
  readonly limits: ChunkLimits;
  readonly docTypes: readonly DocTypeRule[];
  /** Reads the times of last commits. */
  readonly useGit: boolean;
}

export interface RefreshOptions {
  readonly mode: 'incremental' | 'full' | 'verify';
  readonly paths?: readonly string[];
  /** Files on which an earlier attempt spent its time limit. */
  readonly tooSlow?: readonly string[];
}

/** How a refresh reports and is observed. */
export interface RefreshHooks {
  progress(phase: 'scan' | 'index' | 'finish', done: number, total: number): void;
  isCancelled(): boolean;
  /** The file that is being read, so that one that takes too long can be named. */
  begin(path: string): void;
}

/** A source as it was at the last refresh. */
interface KnownSource {
  readonly id: number;
  readonly path: string;
  readonly bytes: number;
  readonly mtime_ns: string;
  readonly ctime_ns: string;
  readonly inode: string;
  readonly read_at: number;
  readonly file_hash: string | null;
  readonly commit_time: number | null;
  readonly status: string;
  readonly reason: string | null;
  readonly doc_type: string;
}

/** A transaction contains at most this many files, or those that were read within this time, milliseconds. */
const batchFiles = 1_000;
const batchMs = 400;

/** A file this fresh may change again within the resolution of its times, milliseconds. */
const racyMs = 2_000;

/** The parts of the configuration on which stored chunks depend, and the versions of the code that made them. */
function policyOf(config: RepoConfig, analysis: TextAnalysis): string {
  const parts = [
    chunkingVersion,
    analysis.version,
    config.limits,
    config.docTypes.map(({ name, patterns }) => [name, patterns]),
  ];
  return hash('sha256', JSON.stringify(parts)).slice(0, 16);
}

/**
 * Brings the index of a repo up to date with its folder. Every file is replaced within one transaction, so that a process
 * that ends at any moment leaves it old or new.
 *
 * @throws MortiseError `refresh_running`, `repo_unavailable`, `index_unavailable`; `cancelled` when it was cancelled
 */
export function refreshRepo(
  index: IndexFile,
  analysis: TextAnalysis,
  config: RepoConfig,
  options: RefreshOptions,
  hooks: RefreshHooks,
): RefreshReport {
  const started = Date.now();
  const lease = takeLease(index.database, config.name);
  if (lease === undefined) throw kbError('refresh_running', { repo: config.name });
  try {
    return run(index, analysis, config, options, hooks, lease.renew, started);
  } catch (error) {
    throw toUnavailable(error);
  } finally {
    try {
      lease.release();
    } catch {
      // It expires.
    }
  }
}

function run(
  index: IndexFile,
  analysis: TextAnalysis,
  config: RepoConfig,
  options: RefreshOptions,
  hooks: RefreshHooks,
  renew: () => boolean,
  started: number,
): RefreshReport {
  const { database } = index;
  hooks.progress('scan', 0, 0);
  const scan = scanRepo(config.name, config.root, config.rules, options.paths);
  const repo = repoRow(index, config);
  const policy = policyOf(config, analysis);
  const warnings = [...index.repaired];
  let mode = options.mode;
  if (repo.policy !== null && repo.policy !== policy) {
    mode = 'full';
    warnings.push('The text analysis or the chunk settings have changed; every file is indexed again.');
  }
  const rebuildAll = mode === 'full' && options.paths === undefined;
  const known = readKnown(index, repo.id, options.paths);
  const commits = config.useGit ? commitTimes(config.root) : new Map<string, number>();
  const writer = createSourceWriter(database, repo.id);
  const work = new RefreshWork({ config, analysis, writer, commits, known, mode, tooSlow: new Set(options.tooSlow) });
  const total = scan.files.length;
  let revised = false;

  const batch = (files: readonly ScannedFile[], from: number): number => {
    const until = performance.now() + batchMs;
    let at = from;
    const outcomes: ReturnType<RefreshWork['look']>[] = [];
    // Files are read before the transaction begins: the lock of the index is held for writing alone.
    for (; at < files.length && at - from < batchFiles && performance.now() < until; at += 1) {
      const file = files[at] as ScannedFile;
      hooks.begin(file.path);
      outcomes.push(work.look(file));
    }
    hooks.begin('');
    const changes = outcomes.filter((outcome) => outcome !== undefined);
    if (changes.length === 0) return at;
    transaction(database, writer, () => {
      for (const change of changes) work.apply(change);
      if (!renew()) throw kbError('refresh_running', { repo: config.name });
      if (changes.some((change) => change.kind === 'write' || (change.kind === 'touch' && change.isShown))) {
        bumpRevision(index, repo.id);
      }
    });
    revised = true;
    return at;
  };

  for (let at = 0; at < total; ) {
    if (hooks.isCancelled()) throw cancelled();
    hooks.progress('index', at, total);
    at = batch(scan.files, at);
    if (!renew()) throw kbError('refresh_running', { repo: config.name });
  }
  hooks.progress('finish', total, total);
  transaction(database, writer, () => {
    work.reportScan(scan);
    const gone = work.removeGone(scan, options.paths);
    database
      .prepare('update kb_repos set last_refresh = ?, policy = ? where id = ?')
      .run([started, options.paths === undefined || repo.policy === policy ? policy : repo.policy, repo.id]);
    if (gone > 0 || work.hasRevised) bumpRevision(index, repo.id);
  });
  if (revised) database.pragma('wal_checkpoint(truncate)');
  return {
    repo: config.name,
    mode: rebuildAll ? 'full' : mode,
    ...work.counts,
    ...totals(index, repo.id),
    duration_ms: Date.now() - started,
    failures: work.failures,
    warnings: [...warnings, ...work.warnings],
  };
}

function cancelled(): Error {
  return Object.assign(new Error('The refresh was cancelled.'), { code: 'cancelled', status: 499 });
}

function transaction(database: IndexFile['database'], writer: SourceWriter, run: () => void): void {
  try {
    database
      .transaction(() => {
        run();
        writer.flush();
      })
      .immediate();
  } catch (error) {
    writer.reset();
    throw error;
  }
}

function repoRow(
  { database }: IndexFile,
  { name, root }: RepoConfig,
): { readonly id: number; readonly policy: string | null } {
  database
    .prepare('insert into kb_repos (name, root) values (?, ?) on conflict (name) do update set root = excluded.root')
    .run([name, root]);
  return database.prepare('select id, policy from kb_repos where name = ?').get([name]) as never;
}

function readKnown(
  { database }: IndexFile,
  repo: number,
  paths: readonly string[] | undefined,
): Map<string, KnownSource> {
  const columns = `id, path, bytes, mtime_ns, ctime_ns, inode, read_at, file_hash, commit_time, status, reason, doc_type`;
  const rows = database.prepare(`select ${columns} from kb_sources where repo = ?`).all([repo]) as KnownSource[];
  const within = paths === undefined ? rows : rows.filter(({ path }) => paths.some((one) => isBelow(path, one)));
  return new Map(within.map((row) => [row.path, row]));
}

function bumpRevision({ database }: IndexFile, repo: number): void {
  database.prepare('update kb_repos set revision = revision + 1 where id = ?').run([repo]);
}

function totals({ database }: IndexFile, repo: number): Pick<RefreshReport, 'total_files' | 'total_chunks'> {
  const files = "select count(*) from kb_sources where repo = ? and status in ('indexed', 'stale')";
  const chunks = 'select count(*) from kb_chunks join kb_sources on kb_sources.id = source where repo = ?';
  return {
    total_files: Number(database.prepare(files).pluck().get([repo])),
    total_chunks: Number(database.prepare(chunks).pluck().get([repo])),
  };
}

/** What has to be written for one file. */
type Change =
  | { readonly kind: 'touch'; readonly id: number; readonly facts: SourceFacts; readonly isShown: boolean }
  | { readonly kind: 'write'; readonly facts: SourceFacts; readonly document: ReturnType<typeof prepareDocument> }
  | { readonly kind: 'fail'; readonly facts: SourceFacts; readonly outcome: Extract<ReadOutcome, { ok: false }> };

interface WorkDeps {
  readonly config: RepoConfig;
  readonly analysis: TextAnalysis;
  readonly writer: SourceWriter;
  readonly commits: ReadonlyMap<string, number>;
  readonly known: ReadonlyMap<string, KnownSource>;
  readonly mode: RefreshOptions['mode'];
  readonly tooSlow: ReadonlySet<string>;
}

/** The state of one refresh: what was seen and counted. */
class RefreshWork {
  readonly counts = {
    changed_files: 0,
    touched_files: 0,
    deleted_files: 0,
    new_chunks: 0,
    deleted_chunks: 0,
    skipped_files: 0,
    errors: 0,
  };
  readonly failures: SourceFailure[] = [];
  readonly warnings: string[] = [];
  hasRevised = false;
  readonly #deps: WorkDeps;
  readonly #types: ReturnType<typeof createDocTypes>;

  constructor(deps: WorkDeps) {
    this.#deps = deps;
    this.#types = createDocTypes(deps.config.docTypes);
  }

  /** Reads a file as far as necessary; undefined when nothing has to be written. */
  look({ path, stats }: ScannedFile): Change | undefined {
    const { config, known, mode, tooSlow } = this.#deps;
    const before = known.get(path);
    if (tooSlow.has(path)) {
      const problem = { status: 'error', reason: 'too_slow', detail: 'its time limit has passed' } as const;
      return {
        kind: 'fail',
        facts: this.#facts(path, stats, null, ''),
        outcome: { ok: false, problem, fileHash: null },
      };
    }
    if (before !== undefined && mode === 'incremental' && isUnchanged(before, stats))
      return this.#retime(before, stats);
    const outcome = readSource(join(config.root, path), config.maxFileBytes);
    if (!outcome.ok) return { kind: 'fail', facts: this.#facts(path, stats, outcome.fileHash, ''), outcome };
    const isSame =
      before !== undefined && before.file_hash === outcome.fileHash && isIndexed(before) && mode !== 'full';
    if (isSame) {
      const facts = this.#facts(path, outcome.stats, outcome.fileHash, before.doc_type);
      const isTouched = before.mtime_ns !== facts.mtimeNs || before.status !== 'indexed';
      if (isTouched) this.counts.touched_files += 1;
      return { kind: 'touch', id: before.id, facts, isShown: isTouched };
    }
    const document = prepareDocument(
      this.#deps.analysis,
      { repo: config.name, path, text: outcome.text },
      config.limits,
    );
    const { docType } = document.frontMatter;
    const isKnown = docType !== undefined && this.#types.isKnown(docType);
    if (docType !== undefined && !isKnown)
      this.warnings.push(`${path}: the doc_type "${docType}" is unknown and ignored.`);
    const type = isKnown && docType !== undefined ? docType : this.#types.typeOf(path);
    if (before === undefined || before.file_hash !== outcome.fileHash) this.counts.changed_files += 1;
    return { kind: 'write', facts: this.#facts(path, outcome.stats, outcome.fileHash, type), document };
  }

  /** Writes what `look` found, within a transaction. */
  apply(change: Change): void {
    const { writer } = this.#deps;
    if (change.kind === 'touch') {
      writer.touch(change.id, change.facts);
      return;
    }
    if (change.kind === 'write') {
      const known = this.#deps.known.get(change.facts.path)?.id;
      const { added, removed } = writer.write(change.facts, change.document, known);
      this.counts.new_chunks += added;
      this.counts.deleted_chunks += removed;
      const { warning } = change.document.frontMatter;
      if (warning !== undefined) this.warnings.push(`${change.facts.path}: ${warning}`);
      return;
    }
    this.#fail(change.facts, change.outcome.problem);
  }

  /** Records what the scan could not read. */
  reportScan({ problems, unlisted }: Scan): void {
    for (const { path, reason, detail } of problems) {
      const facts = this.#facts(path, undefined, null, '');
      this.#fail(facts, { status: reason === 'bad_name' ? 'skipped' : 'error', reason, detail });
    }
    for (const { path, detail } of unlisted) {
      this.counts.errors += 1;
      this.failures.push({
        path,
        status: 'error',
        reason: 'unreadable',
        detail: `the folder cannot be listed: ${detail}`,
      });
    }
  }

  /** Deletes sources whose file is gone; those below a folder that cannot be listed are kept as stale. */
  removeGone({ files, problems, unlisted }: Scan, paths: readonly string[] | undefined): number {
    const present = new Set([...files.map(({ path }) => path), ...problems.map(({ path }) => path)]);
    let gone = 0;
    for (const { id, path, status } of this.#deps.known.values()) {
      if (present.has(path) || (paths !== undefined && !paths.some((one) => isBelow(path, one)))) continue;
      if (unlisted.some((folder) => isBelow(path, folder.path))) {
        if (status === 'indexed') this.#deps.writer.markStale(id, 'unreadable');
        this.hasRevised ||= status === 'indexed';
        continue;
      }
      this.counts.deleted_chunks += this.#deps.writer.remove(id).removed;
      this.counts.deleted_files += 1;
      gone += 1;
    }
    return gone;
  }

  #fail(facts: SourceFacts, problem: Extract<ReadOutcome, { ok: false }>['problem']): void {
    const before = this.#deps.known.get(facts.path);
    const keeps = problem.reason === 'unreadable' && before !== undefined && isIndexed(before);
    const status = keeps ? 'stale' : problem.status;
    if (before?.status !== status) this.hasRevised = true;
    if (keeps) this.#deps.writer.markStale(before.id, problem.reason);
    else this.counts.deleted_chunks += this.#deps.writer.fail(facts, problem, before?.id).removed;
    if (problem.status === 'skipped') this.counts.skipped_files += 1;
    else this.counts.errors += 1;
    this.failures.push({ path: facts.path, status, reason: problem.reason, detail: problem.detail });
  }

  /** The last commit may be newer although the file is the same. */
  #retime(before: KnownSource, stats: BigIntStats): Change | undefined {
    const commit = this.#deps.commits.get(before.path) ?? null;
    if (!this.#deps.config.useGit || commit === before.commit_time) return undefined;
    this.counts.touched_files += 1;
    return {
      kind: 'touch',
      id: before.id,
      facts: this.#facts(before.path, stats, before.file_hash, before.doc_type),
      isShown: true,
    };
  }

  #facts(path: string, stats: BigIntStats | undefined, fileHash: string | null, docType: string): SourceFacts {
    return {
      sourceId: `src_${hash('sha256', `${this.#deps.config.name}\0${path}`).slice(0, 16)}`,
      path,
      docType: docType === '' ? this.#types.typeOf(path) : docType,
      bytes: Number(stats?.size ?? 0),
      mtime: Number((stats?.mtimeNs ?? 0n) / 1_000_000n),
      mtimeNs: String(stats?.mtimeNs ?? ''),
      ctimeNs: String(stats?.ctimeNs ?? ''),
      inode: String(stats?.ino ?? ''),
      readAt: Date.now(),
      fileHash,
      commitTime: this.#deps.commits.get(path) ?? null,
    };
  }
}

function isIndexed({ status }: KnownSource): boolean {
  return status === 'indexed' || status === 'stale';
}

/** Whether a file need not be opened: same size, times and inode, and old enough that a change would show. */
function isUnchanged(before: KnownSource, stats: BigIntStats): boolean {
  const settled = before.read_at - racyMs;
  return (
    before.status === 'indexed' &&
    BigInt(before.bytes) === stats.size &&
    before.mtime_ns === String(stats.mtimeNs) &&
    before.ctime_ns === String(stats.ctimeNs) &&
    before.inode === String(stats.ino) &&
    Number(stats.mtimeMs) <= settled &&
    Number(stats.ctimeMs) <= settled
  );
}
