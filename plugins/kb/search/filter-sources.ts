import picomatch from 'picomatch';
import { documentBoost } from '../documents/doc-type.js';
import type { IndexSearch, SearchConfig } from './index-search.js';
import { recencyBoost } from './ranking.js';
import type { RepoSnapshot, SourceRow } from './repo-snapshot.js';

export const dayMs = 86_400_000;

/** The factors of a source in the scores of its chunks. */
export interface Boosts {
  readonly document: number;
  readonly recency: number;
  readonly days: number;
}

/** The filters of a search, on sources; undefined when it has none. */
export function createFilter(
  wanted: IndexSearch,
  repo: RepoSnapshot,
  config: SearchConfig,
): ((source: number) => boolean) | undefined {
  const { scope, syntax } = wanted;
  const isOpen = [scope, wanted.pathGlob, wanted.modifiedAfter, wanted.modifiedBefore, syntax].every(
    (filter) => filter === undefined,
  );
  if (isOpen && wanted.docTypes.length === 0 && wanted.tags.length === 0) return undefined;
  const glob = wanted.pathGlob === undefined ? undefined : picomatch(wanted.pathGlob, { dot: true });
  const types = [...wanted.docTypes, ...(syntax?.types ?? [])];
  const tags = [...wanted.tags, ...(syntax?.tags ?? [])];
  const memo = new Int8Array(repo.sources.length).fill(-1);
  const matches = (source: SourceRow): boolean => {
    const time = dateOf(source, config);
    return (
      (scope === undefined || source.path.startsWith(scope)) &&
      (types.length === 0 || types.includes(source.docType)) &&
      tags.every((tag) => source.tags.includes(tag)) &&
      (glob === undefined || glob(source.path)) &&
      (wanted.modifiedAfter === undefined || time >= wanted.modifiedAfter) &&
      (wanted.modifiedBefore === undefined || time <= wanted.modifiedBefore) &&
      (syntax?.path ?? []).every((part) => source.path.toLowerCase().includes(part.toLowerCase()))
    );
  };
  return (source) => {
    const known = memo[source] ?? -1;
    if (known >= 0) return known === 1;
    const allowed = matches(repo.sources[source] as SourceRow);
    memo[source] = allowed ? 1 : 0;
    return allowed;
  };
}

/** The date of a source: its front matter, else its last commit or its file's time. */
function dateOf({ documentTime, commitTime, mtime }: SourceRow, { recency }: SearchConfig): number {
  return documentTime ?? (recency.source === 'git' ? commitTime : null) ?? mtime;
}

export function boostsOf(source: SourceRow, { asOf }: IndexSearch, config: SearchConfig): Boosts {
  const days = Math.max(0, Math.floor(asOf / dayMs) - Math.floor(dateOf(source, config) / dayMs));
  const { enabled, amount, days: scale } = config.recency;
  return {
    document: documentBoost(config.docTypes, source.docType, source.path),
    recency: enabled ? recencyBoost(days, { amount, scale }) : 1,
    days,
  };
}
