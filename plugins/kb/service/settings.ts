import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { MortiseError, pathBelow } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import { kbError } from '../errors.js';
import type { RepoConfig } from '../index/refresh-work.js';
import type { SearchConfig } from '../search/index-search.js';

/** A configured repo, or a folder named with `--root`. */
export interface Repo {
  readonly name: string;
  /** Absolute. */
  readonly root: string;
}

/** The configuration with paths resolved and defaults filled in. */
export interface KbSettings {
  readonly repos: readonly Repo[];
  readonly search: SearchConfig;
  readonly rerank: {
    readonly enabled: boolean;
    readonly embedder: string;
    readonly candidateK: number;
    readonly alpha: number;
    readonly minCoverage: number;
    readonly timeoutMs: number;
  };
  readonly docTypeNames: readonly string[];
  repoConfig(repo: Repo): RepoConfig;
}

function invalid(path: string, problem: string): MortiseError {
  return new MortiseError('invalid_config', `${path} ${problem}.`, {
    status: 400,
    details: { path },
    hint: 'Correct config/kb.json; it is read again as soon as it is saved.',
  });
}

/**
 * Reads the validated configuration.
 *
 * @throws MortiseError `invalid_config` for values that exclude each other
 */
export function readSettings(config: Config, workspaceDir: string): KbSettings {
  const { chunk, rerank } = config;
  const limits = { maxTokens: chunk.max_tokens, minTokens: chunk.min_tokens };
  if (limits.minTokens * 2 > limits.maxTokens) {
    const half = Math.floor(limits.maxTokens / 2);
    const rule = `it must be at most ${half}, half of chunk.max_tokens (${limits.maxTokens})`;
    throw invalid('chunk.min_tokens', `is ${limits.minTokens}: ${rule}`);
  }
  const repos = config.repos.map(({ name, path }) => ({ name, root: resolve(workspaceDir, path) }));
  assertDistinct(repos);
  const docTypes = config.doc_types;
  return {
    repos,
    docTypeNames: ['default', ...docTypes.map(({ name }) => name)],
    search: {
      docTypes,
      recency: config.recency,
      perSource: config.search.per_source,
      candidates: config.search.candidates,
    },
    rerank: {
      enabled: rerank.enabled,
      embedder: rerank.embedder,
      candidateK: rerank.candidate_k,
      alpha: rerank.alpha,
      minCoverage: rerank.min_coverage,
      timeoutMs: rerank.timeout_ms,
    },
    repoConfig: ({ name, root }) => ({
      name,
      root,
      rules: {
        include: config.include,
        exclude: config.exclude,
        gitignore: config.gitignore,
        followSymlinks: config.follow_symlinks,
      },
      maxFileBytes: config.max_file_bytes,
      limits,
      docTypes,
      useGit: config.recency.source === 'git',
    }),
  };
}

/** @throws MortiseError `invalid_config` for a name that is used twice, or a repo inside another one */
export function assertDistinct(repos: readonly Repo[]): void {
  for (const [index, one] of repos.entries()) {
    for (const [otherIndex, other] of repos.entries()) {
      if (index === otherIndex) continue;
      if (one.name === other.name) throw invalid(`repos.${index}.name`, `"${one.name}" is used twice`);
      if (pathBelow(other.root, one.root) !== undefined)
        throw invalid(`repos.${index}.path`, `is inside the repo "${other.name}"`);
    }
  }
}

/** The repo of any folder, named by its real path. @throws MortiseError `invalid_request` */
export function repoOfFolder(folder: string): Repo {
  try {
    const root = realpathSync(folder);
    if (statSync(root).isDirectory())
      return { name: `root-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`, root };
  } catch {
    // Reported below.
  }
  throw kbError('invalid_request', { field: 'root', problem: `"${basename(folder)}" is no folder` });
}
