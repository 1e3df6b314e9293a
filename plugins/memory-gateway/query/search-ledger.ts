import type { LedgerMemory, LedgerState } from 'mortise/contracts/logbook';
import { type CallContext, callOptions } from 'mortise/sdk';
import { failureText } from '../backend/read-failure.js';
import type { Gateway } from '../gateway.js';
import { sha256 } from '../store/hashes.js';
import { ledgerFilters, type QueryArguments, splitQuestion } from './query-arguments.js';
import { type CandidateItem, candidateItem, ledgerItem, type QueryItem } from './query-result.js';

const undelivered: readonly LedgerState[] = ['queued', 'dead', 'merged'];

/** Maximum number of texts that one query reads from the backend. */
const MAX_READ = 20;

/** Finds accepted memories that the backend does not have. */
export async function searchUndelivered(
  { query, spaces, filters, topK }: QueryArguments,
  { logbook: { ledger } }: Gateway,
): Promise<readonly QueryItem[]> {
  // Usually there are none, and that check is cheaper than a text search.
  if (!(await ledger.hasAny(spaces, undelivered))) return [];
  const hits = await ledger.searchText({
    question: splitQuestion(query),
    spaces,
    states: undelivered,
    filters: ledgerFilters(filters),
    limit: topK,
  });
  const minScore = filters.minScore ?? 0;
  return hits.filter(({ score }) => score >= minScore).map(({ memory, score }) => ledgerItem(memory, score, 'pending'));
}

/** Answers a query without the backend: knowledge candidates first, then memories of the ledger. */
export async function searchWithoutBackend(
  { query, spaces, filters, topK }: QueryArguments,
  { logbook }: Gateway,
): Promise<readonly (CandidateItem | QueryItem)[]> {
  const wanted = ledgerFilters(filters);
  const minScore = filters.minScore ?? 0;
  const question = splitQuestion(query);
  const { kind, evidence } = wanted;
  const candidates = await logbook.candidates.search({ question, spaces, kind, evidence, limit: topK });
  const found = candidates.filter(({ score }) => score >= minScore).map(candidateItem);
  if (found.length >= topK) return found;
  const hits = await logbook.ledger.searchText({
    question,
    spaces,
    states: ['active', ...undelivered],
    filters: wanted,
    limit: topK - found.length,
  });
  const memories = hits.filter(({ score }) => score >= minScore);
  return [
    ...found,
    ...memories.map(({ memory, score }) => ledgerItem(memory, score, memory.state === 'active' ? 'ledger' : 'pending')),
  ];
}

interface ReadTexts {
  /** By memory key. */
  readonly texts: ReadonlyMap<string, string>;
  /** The last error of the backend. */
  readonly failure: unknown;
}

/** Reads the texts of memories whose ledger rows have only hashes from the backend. */
async function readTexts(
  memories: readonly LedgerMemory[],
  ctx: CallContext,
  { backend }: Gateway,
): Promise<ReadTexts> {
  const texts = new Map<string, string>();
  let failure: unknown;
  const read = async ({ memoryKey, backendMemoryId, payloadSha }: LedgerMemory): Promise<void> => {
    try {
      const found = await backend.get(backendMemoryId ?? '', callOptions(ctx));
      // As in search hits, the text of another memory is not shown.
      if (found && sha256(found.content) === payloadSha) texts.set(memoryKey, found.content);
    } catch (error) {
      failure = error;
    }
  };
  const wanted = memories.filter((memory) => memory.payload === null && memory.backend === backend.backend);
  await Promise.all(wanted.slice(0, MAX_READ).map(read));
  return { texts, failure };
}

interface NewestMemories {
  readonly results: readonly QueryItem[];
  /** How many memories are not shown; null when all are. */
  readonly message: string | null;
  readonly degraded: boolean;
}

/** The newest memories of the spaces: the answer to an empty query. */
export async function newestMemories(
  request: QueryArguments,
  ctx: CallContext,
  gateway: Gateway,
): Promise<NewestMemories> {
  const filters = ledgerFilters(request.filters);
  const memories = await gateway.logbook.ledger.newest({ spaces: request.spaces, filters, limit: request.topK });
  const { texts, failure } = await readTexts(memories, ctx, gateway);
  const results = memories.flatMap((memory) => {
    const payload = memory.payload ?? texts.get(memory.memoryKey);
    return payload === undefined ? [] : [ledgerItem({ ...memory, payload }, 0, 'ledger')];
  });
  const hidden = memories.length - results.length;
  if (hidden === 0) return { results, message: null, degraded: false };
  const why = `${hidden} of the newest memories ${hidden === 1 ? 'has' : 'have'} no text in the ledger`;
  if (failure === undefined) {
    return {
      results,
      message: `${why} and ${hidden === 1 ? 'is' : 'are'} not shown; search with words to find them.`,
      degraded: false,
    };
  }
  const message = `Degraded query (memory backend unavailable): ${failureText(failure)}; ${why}.`;
  return { results, message, degraded: true };
}
