import type { LedgerMemory } from 'mortise/contracts/logbook';
import { type CallContext, callOptions } from 'mortise/sdk';
import { failureText } from '../backend-client.js';
import type { GatewayParts } from '../parts.js';
import { sha256 } from '../store/hashes.js';
import { ledgerFilters, type QueryArguments } from './query-arguments.js';
import { ledgerItem, type QueryItem } from './query-result.js';

/** Memories that one query reads in the backend only for their texts. */
const MOST_READ = 20;

export interface NewestMemories {
  readonly results: readonly QueryItem[];
  /** What could not be shown; null when that is nothing. */
  readonly message: string | null;
  readonly degraded: boolean;
}

interface ReadTexts {
  /** By memory key. */
  readonly texts: ReadonlyMap<string, string>;
  /** What the backend failed with. */
  readonly failure: unknown;
}

/** The texts of memories whose ledger keeps hashes alone, from the backend that has them. */
async function readTexts(
  memories: readonly LedgerMemory[],
  ctx: CallContext,
  { backend }: GatewayParts,
): Promise<ReadTexts> {
  const texts = new Map<string, string>();
  let failure: unknown;
  const read = async ({ memoryKey, backendMemoryId, payloadSha }: LedgerMemory): Promise<void> => {
    try {
      const found = await backend.get(backendMemoryId ?? '', callOptions(ctx));
      // As for hits of a search: the text of another memory is shown to nobody.
      if (found && sha256(found.content) === payloadSha) texts.set(memoryKey, found.content);
    } catch (error) {
      failure = error;
    }
  };
  const wanted = memories.filter((memory) => memory.payload === null && memory.backend === backend.backend);
  await Promise.all(wanted.slice(0, MOST_READ).map(read));
  return { texts, failure };
}

/** The newest memories of the spaces: what a query finds that asks for nothing. */
export async function newestMemories(
  asked: QueryArguments,
  ctx: CallContext,
  parts: GatewayParts,
): Promise<NewestMemories> {
  const filters = ledgerFilters(asked.filters);
  const memories = await parts.logbook.ledger.newest({ spaces: asked.spaces, filters, limit: asked.topK });
  const { texts, failure } = await readTexts(memories, ctx, parts);
  const results = memories.flatMap((memory) => {
    const payload = memory.payload ?? texts.get(memory.memoryKey);
    return payload === undefined ? [] : [ledgerItem({ ...memory, payload }, 0, 'ledger')];
  });
  const hidden = memories.length - results.length;
  if (hidden === 0) return { results, message: null, degraded: false };
  const why = `${hidden} of the newest memories ${hidden === 1 ? 'is' : 'are'} kept without a text here`;
  if (failure === undefined) {
    return { results, message: `${why}, and not shown; ask for them with words.`, degraded: false };
  }
  const message = `Degraded query (memory backend unavailable): ${failureText(failure)}; ${why}.`;
  return { results, message, degraded: true };
}
