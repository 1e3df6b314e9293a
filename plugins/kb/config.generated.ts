/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Folders that are indexed. Names are keys; a path is relative to the workspace. */
  readonly repos: readonly {
    readonly name: string;
    readonly path: string;
  }[];
  /** Globs of the files that are indexed, relative to the repo. */
  readonly include: readonly string[];
  /** Names of folders (without a slash) at any depth, or globs on the path. .* are hidden folders. */
  readonly exclude: readonly string[];
  /** Files in .gitignore are not indexed. */
  readonly gitignore: boolean;
  /** Follows links whose target is inside the repo. */
  readonly follow_symlinks: boolean;
  /** Larger files are skipped, bytes. */
  readonly max_file_bytes: number;
  /** Size of a passage in estimated tokens; min_tokens is at most half of max_tokens. */
  readonly chunk: {
    readonly max_tokens: number;
    readonly min_tokens: number;
  };
  /** Kinds of documents by globs on the lower-case path; the first match decides. The weight multiplies the score. */
  readonly doc_types: readonly {
    readonly name: string;
    readonly patterns: readonly string[];
    readonly weight: number;
  }[];
  /** Newer documents count more: 1 + amount * e^(-days / days). The date is that of the file or of its last commit. */
  readonly recency: {
    readonly enabled: boolean;
    readonly amount: number;
    readonly days: number;
    readonly source: 'mtime' | 'git';
  };
  /** Chunks of one file before others are taken, and chunks that are scored exactly. */
  readonly search: {
    readonly per_source: number;
    readonly candidates: number;
  };
  /** Vectors reorder the first hits: score = (1 - alpha) * keyword + alpha * vector. */
  readonly rerank: {
    readonly enabled: boolean;
    readonly embedder: string;
    readonly candidate_k: number;
    readonly alpha: number;
    readonly min_coverage: number;
    readonly timeout_ms: number;
  };
  /** Refreshes when files change while the server runs. */
  readonly watch: boolean;
  /** fallbacks: a row when vectors are unavailable; all: also a row per search, without its text. */
  readonly audit: 'fallbacks' | 'all';
  /** Offers kb_search and kb_read to MCP clients too. */
  readonly mcp_tools: boolean;
  /** Adds matching passages to the prompt of every turn. */
  readonly prompt: {
    readonly enabled: boolean;
  };
}
