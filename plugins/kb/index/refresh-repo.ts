import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { RefreshReport } from '../contract/kb.js';
import { kbError } from '../errors.js';
import { isBelow, type ScannedFile, scanRepo } from '../scan/scan-repo.js';
import { takeLease } from './lease.js';
import { type IndexFile, toUnavailable } from './open-index.js';
import { type KnownSource, type RefreshOptions, RefreshWork, type RepoConfig } from './refresh-work.js';
import { chunkingVersion } from './schema.js';
import { createSourceWriter, type SourceWriter } from './write-source.js';

/** How a refresh reports and is observed. */
interface RefreshHooks {
  progress(phase: 'scan' | 'index' | 'finish', done: number, total: number): void;
  isCancelled(): boolean;
  /** The file that is being read, so that one that takes too long can be named. */
  begin(path: string): void;
}

/** A transaction contains at most this many files, or the files read within this time, milliseconds. */
const batchFiles = 1_000;
const batchMs = 400;

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
  const warnings = index.repaired.splice(0);
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
  // A full refresh is an explicit request.
  const keepsAll = scan.isEmpty && known.size > 0 && options.mode !== 'full';
  if (keepsAll) warnings.push(emptyFolder(known.size));
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
    const gone = keepsAll ? 0 : work.removeGone(scan, options.paths);
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

function emptyFolder(sources: number): string {
  const kept = sources === 1 ? 'The one indexed file is kept' : `All ${sources} indexed files are kept`;
  return `The folder has no file at all: is its disk mounted? ${kept}; mortise kb refresh --full removes them.`;
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

const maxOutput = 256 * 1024 * 1024;
const limitMs = 30_000;

/** The time of the last commit of every file, epoch milliseconds by path; empty outside a git repository. */
function commitTimes(root: string): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  let log: string;
  try {
    log = execFileSync(
      'git',
      [
        '-C',
        root,
        '-c',
        'core.quotePath=false',
        'log',
        '--format=%x01%ct',
        '--name-only',
        '--no-renames',
        '-z',
        '--relative',
      ],
      { encoding: 'utf8', maxBuffer: maxOutput, timeout: limitMs, stdio: ['ignore', 'pipe', 'ignore'] },
    );
  } catch {
    return times;
  }
  for (const commit of log.split('\u0001')) {
    const [seconds, ...paths] = commit.split(/[\0\n]+/);
    const time = Number(seconds) * 1_000;
    if (!Number.isFinite(time)) continue;
    for (const path of paths) if (path !== '' && !times.has(path)) times.set(path, time);
  }
  return times;
}
