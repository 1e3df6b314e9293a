import type { GatewayParts } from '../parts.js';
import { ledgerFilters, type QueryArguments } from './query-arguments.js';
import { type CandidateItem, candidateItem, ledgerItem, type QueryItem } from './query-result.js';
import { splitQuestion } from './split-question.js';

/** Answers without the backend: distilled candidates first, then what the ledger holds. */
export async function degradedQuery(
  asked: QueryArguments,
  parts: GatewayParts,
): Promise<readonly (CandidateItem | QueryItem)[]> {
  const { spaces, topK } = asked;
  const filters = ledgerFilters(asked.filters);
  const minScore = asked.filters.minScore ?? 0;
  const question = splitQuestion(asked.query);
  const candidates = await parts.logbook.candidates.search({
    question,
    spaces,
    kind: filters.kind,
    evidence: filters.evidence,
    limit: topK,
  });
  const found = candidates.filter(({ score }) => score >= minScore).map(candidateItem);
  if (found.length >= topK) return found;
  const hits = await parts.logbook.ledger.searchText({
    question,
    spaces,
    states: ['active', 'queued', 'dead', 'merged'],
    filters,
    limit: topK - found.length,
  });
  const memories = hits.filter(({ score }) => score >= minScore);
  return [
    ...found,
    ...memories.map(({ memory, score }) => ledgerItem(memory, score, memory.state === 'active' ? 'ledger' : 'pending')),
  ];
}
