import type { LedgerFilters, LedgerMemory, LogbookService } from 'mortise/contracts/logbook';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { MemoryHit } from 'mortise/sdk';
import type { ReadQuery } from './read-query.js';
import type { Scored } from './score-documents.js';

export interface AcceptParts {
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
}

/** Memories that are read at the least when some of them may be filtered out. */
const FEWEST_FILTERED = 40;

/** What must hold of a memory beside its score. */
export interface Conditions {
  readonly filters: LedgerFilters;
  readonly phrases: ReadQuery['phrases'];
  readonly minScore: number;
}

/** Whether the score alone does not decide. */
export function isFiltered({ filters, phrases }: Conditions): boolean {
  return phrases.length > 0 || Object.values(filters).some((value) => value !== undefined);
}

function toHit(memory: LedgerMemory, scored: Scored, isExplained: boolean): MemoryHit {
  return {
    id: scored.memoryId,
    content: memory.payload ?? '',
    score: scored.score,
    space: memory.space,
    metadata: memory.meta,
    memory,
    ...(isExplained ? { explain: scored.parts } : {}),
  };
}

/** The best of the scored that meet the conditions, at most `limit`; texts are read only as far as needed. */
export async function accept(
  parts: AcceptParts,
  scored: readonly Scored[],
  conditions: Conditions,
  limit: number,
  isExplained: boolean,
): Promise<readonly MemoryHit[]> {
  const { logbook, analysis } = parts;
  const { filters, phrases, minScore } = conditions;
  const hits: MemoryHit[] = [];
  const good = scored.filter(({ score }) => score > 0 && score >= minScore);
  const step = isFiltered(conditions) ? Math.max(limit, FEWEST_FILTERED) : limit;
  for (let at = 0; at < good.length && hits.length < limit; at += step) {
    const slice = good.slice(at, at + step);
    const rows = await logbook.ledger.byBackendIds(
      'local',
      slice.map(({ memoryId }) => memoryId),
    );
    const memories = new Map(rows.map((row) => [row.backendMemoryId, row]));
    for (const one of slice) {
      const memory = memories.get(one.memoryId);
      if (memory === undefined || memory.payload === null || !logbook.ledger.matches(memory, filters)) continue;
      const text = phrases.length === 0 ? '' : analysis.normalise(memory.payload);
      if (phrases.every((phrase) => analysis.containsPhrase(text, phrase))) hits.push(toHit(memory, one, isExplained));
    }
  }
  return hits.slice(0, limit);
}
