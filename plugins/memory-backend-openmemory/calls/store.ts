import type { MemoryBackendContext, MemoryItem, StoredMemory } from 'mortise/sdk';
import type { Dialect } from '../dialect/dialect.js';
import { contentTooLong, invalidResponse, refusedBySelf } from '../failure.js';
import { withinBudget } from '../http/budget.js';
import { objectOf } from '../json.js';
import type { OpenMemoryParts } from '../parts.js';

/** Whether a text has more than `limit` characters. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > limit;
}

function storedOf(dialect: Dialect, body: unknown): StoredMemory {
  const answer = objectOf(body);
  if (answer.success === false) throw refusedBySelf();
  const { id, deduplicated } = dialect.storeAnswer(answer);
  if (id === undefined) throw invalidResponse('it names no id', 'writes');
  return deduplicated ? { id, deduplicated } : { id };
}

/** `POST /memory/add` @throws MortiseError with the details of a `BackendFailure`. */
export async function store(
  item: MemoryItem,
  ctx: MemoryBackendContext,
  { client, spoken, apiKey }: OpenMemoryParts,
  maxContentChars: number,
): Promise<StoredMemory> {
  if (isLonger(item.content, maxContentChars)) throw contentTooLong(maxContentChars);
  return withinBudget(ctx, (signal) =>
    spoken.speak(signal, async (dialect) => {
      const { body } = await client.send({
        method: 'POST',
        path: '/memory/add',
        headers: { ...(apiKey && dialect.authorisation(apiKey)), 'idempotency-key': item.memoryKey },
        body: dialect.storeBody(item),
        effect: 'writes',
        signal,
      });
      return storedOf(dialect, body);
    }),
  );
}
