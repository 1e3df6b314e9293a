import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { ChunkLimits } from '../documents/chunk-document.js';
import { openIndex } from '../index/open-index.js';
import { prepareDocument } from '../index/prepare-document.js';
import { createSourceWriter } from '../index/write-source.js';
import type { IndexSearch, SearchConfig } from '../search/index-search.js';
import { createSearcher } from '../search/search-index.js';
import { type Judgements, type Measures, measure } from './measures.js';
import type { EvaluationSet } from './read-set.js';

export interface Evaluation {
  readonly set: string;
  readonly documents: number;
  readonly queries: number;
  readonly metrics: Measures;
  readonly timing: {
    /** Absent where nothing was indexed. */
    readonly documents_per_second?: number;
    readonly p50_ms: number;
    readonly p95_ms: number;
  };
  /** What reordered the answers. */
  readonly rerank?: { readonly embedder: string; readonly model: string; readonly alpha: number };
}

/** The answer to one query of a set. */
interface SetAnswer {
  readonly query: string;
  /** Grades by document. */
  readonly judged: readonly (readonly [document: string, grade: number])[];
  /** Best first. */
  readonly hits: readonly { readonly document: string; readonly contentHash: string; readonly score: number }[];
  readonly ms: number;
}

/** What the index thread measures on a set. */
export interface AnsweredSet {
  readonly set: string;
  readonly documents: number;
  readonly documentsPerSecond: number;
  readonly answers: readonly SetAnswer[];
  /** Texts of the hits by content hash, when requested. */
  readonly contents: readonly (readonly [hash: string, content: string])[];
}

export interface EvaluateOptions {
  readonly limits: ChunkLimits;
  readonly search: SearchConfig;
  /** Hits of each query. */
  readonly depth: number;
  /** Whether to return the texts of the hits, to embed them. */
  readonly withContents: boolean;
  progress?(phase: 'index' | 'search', done: number, total: number): void;
}

const repo = 'evaluation';

/** A search of an evaluation, without filters. */
export function plainSearch(text: string, limit: number, repos: readonly string[] = [repo]): IndexSearch {
  return {
    text,
    syntax: undefined,
    repos,
    limit,
    offset: 0,
    scope: undefined,
    docTypes: [],
    tags: [],
    pathGlob: undefined,
    modifiedAfter: undefined,
    modifiedBefore: undefined,
    content: false,
    details: false,
    asOf: Date.now(),
  };
}

/** Indexes a set in a temporary database with the product's own code, and runs its queries. */
export function answerSet(set: EvaluationSet, analysis: TextAnalysis, options: EvaluateOptions): AnsweredSet {
  const folder = mkdtempSync(join(tmpdir(), 'mortise-kb-eval-'));
  const index = openIndex(join(folder, 'kb.db'), { write: true });
  try {
    if (index === undefined) throw new Error('The temporary index cannot be created.');
    const { database } = index;
    const now = Date.now();
    database.prepare('insert into kb_repos (name, root, last_refresh) values (?, ?, ?)').run([repo, folder, now]);
    const writer = createSourceWriter(database, 1);
    const idOf = new Map<string, string>();
    const begun = performance.now();
    for (let from = 0; from < set.documents.length; from += 200) {
      options.progress?.('index', from, set.documents.length);
      database
        .transaction(() => {
          for (const [offset, { id, title, text }] of set.documents.slice(from, from + 200).entries()) {
            const path = `${lettersOf(from + offset)}.md`;
            idOf.set(path, id);
            const heading = title.replaceAll(/\s+/g, ' ').trim();
            const document = prepareDocument(
              analysis,
              { repo, path, text: heading === '' ? text : `# ${heading}\n\n${text}` },
              options.limits,
            );
            const times = { mtime: now, mtimeNs: '', ctimeNs: '', inode: '', readAt: now, commitTime: null };
            writer.write(
              { sourceId: path, path, docType: 'default', bytes: text.length, fileHash: null, ...times },
              document,
              undefined,
            );
          }
          writer.flush();
        })
        .immediate();
    }
    const indexMs = performance.now() - begun;
    const searcher = createSearcher(database, analysis);
    const contentOf = database.prepare('select content from kb_chunks where content_hash = ? limit 1').pluck();
    const contents = new Map<string, string>();
    const answers = set.queries.map(({ text, judged }, at): SetAnswer => {
      if (at % 50 === 0) options.progress?.('search', at, set.queries.length);
      const from = performance.now();
      const { hits } = searcher.search(plainSearch(text, options.depth), options.search);
      const ms = performance.now() - from;
      for (const { contentHash } of options.withContents ? hits : []) {
        if (!contents.has(contentHash))
          contents.set(contentHash, String(contentOf.get([Buffer.from(contentHash, 'hex')])));
      }
      const found = hits.map(({ path, contentHash, score }) => ({
        document: idOf.get(path) ?? path,
        contentHash,
        score,
      }));
      return { query: text, judged: [...judged], hits: found, ms };
    });
    return {
      set: set.name,
      documents: set.documents.length,
      documentsPerSecond: Math.round((set.documents.length * 1_000) / Math.max(indexMs, 1)),
      answers,
      contents: [...contents],
    };
  } finally {
    index?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures ranked answers. */
export function evaluationOf(
  {
    set,
    documents,
    documentsPerSecond,
  }: Pick<AnsweredSet, 'set' | 'documents'> & Partial<Pick<AnsweredSet, 'documentsPerSecond'>>,
  answers: readonly { readonly ranked: readonly string[]; readonly judged: Judgements; readonly ms: number }[],
  cutOffs: readonly number[],
): Evaluation {
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  const percentile = (share: number): number =>
    Math.round((times[Math.floor(share * (times.length - 1))] ?? 0) * 100) / 100;
  return {
    set,
    documents,
    queries: answers.length,
    metrics: measure(
      answers.map(({ ranked, judged }) => ({ ranked: [...new Set(ranked)], judged })),
      cutOffs,
    ),
    timing: {
      ...(documentsPerSecond === undefined ? {} : { documents_per_second: documentsPerSecond }),
      p50_ms: percentile(0.5),
      p95_ms: percentile(0.95),
    },
  };
}

/** A name without digits: the digits of a path would match numbers in queries. */
function lettersOf(index: number): string {
  let rest = index;
  let name = '';
  do {
    name = String.fromCharCode(97 + (rest % 26)) + name;
    rest = Math.floor(rest / 26);
  } while (rest > 0);
  return `document${name}`;
}
