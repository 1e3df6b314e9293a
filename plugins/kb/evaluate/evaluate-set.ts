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
import { type Measures, measure } from './measures.js';
import type { EvaluationSet } from './read-set.js';

export interface Evaluation {
  readonly set: string;
  readonly documents: number;
  readonly queries: number;
  readonly metrics: Measures;
  readonly timing: { readonly documents_per_second: number; readonly p50_ms: number; readonly p95_ms: number };
}

export interface EvaluateOptions {
  readonly cutOffs: readonly number[];
  readonly limits: ChunkLimits;
  readonly search: SearchConfig;
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

/** Indexes a set in a temporary database with the product's own code, asks its queries, and measures the answers. */
export function evaluateSet(set: EvaluationSet, analysis: TextAnalysis, options: EvaluateOptions): Evaluation {
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
    const times: number[] = [];
    const depth = Math.min(100, Math.max(10, ...options.cutOffs));
    const answers = set.queries.map(({ text, judged }, at) => {
      if (at % 50 === 0) options.progress?.('search', at, set.queries.length);
      const from = performance.now();
      const { hits } = searcher.search(plainSearch(text, depth), options.search);
      times.push(performance.now() - from);
      return { ranked: [...new Set(hits.map(({ path }) => idOf.get(path) ?? path))], judged };
    });
    times.sort((a, b) => a - b);
    const percentile = (share: number): number => round(times[Math.floor(share * (times.length - 1))] ?? 0);
    return {
      set: set.name,
      documents: set.documents.length,
      queries: set.queries.length,
      metrics: measure(answers, options.cutOffs),
      timing: {
        documents_per_second: Math.round((set.documents.length * 1_000) / Math.max(indexMs, 1)),
        p50_ms: percentile(0.5),
        p95_ms: percentile(0.95),
      },
    };
  } finally {
    index?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
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
