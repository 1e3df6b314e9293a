import { hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { SourceFailure } from '../contract/kb.js';
import type { ChunkLimits } from '../documents/chunk-document.js';
import { createDocTypes, type DocTypeRule } from '../documents/doc-type.js';
import { type ReadOutcome, readSource } from '../scan/read-file.js';
import { isBelow, type Scan, type ScannedFile, type ScanRules } from '../scan/scan-repo.js';
import { prepareDocument } from './prepare-document.js';
import type { SourceFacts, SourceWriter } from './write-source.js';

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

/** A source as it was at the last refresh. */
export interface KnownSource {
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

/** A file this fresh may change again within the resolution of its times, milliseconds. */
const racyMs = 2_000;

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
export class RefreshWork {
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
      this.#fail(facts, { status: reason === 'unreadable' ? 'error' : 'skipped', reason, detail });
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
