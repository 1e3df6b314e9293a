import type { BackendMemory, MemoryBackendContext } from 'mortise/sdk';
import { apiError, invalidResponse } from '../failure.js';
import { withinBudget } from '../http/budget.js';
import { isObject, objectOf } from '../json.js';
import type { OpenMemoryParts } from '../parts.js';
import { backendMemory } from './backend-memory.js';

/**
 * One read, within a call that goes on. Null when the server does not know the id. That it says in JSON: a bare 404 comes
 * from something before it, which knows nothing of memories.
 */
export function getWithin(
  id: string,
  signal: AbortSignal,
  { client, spoken, apiKey }: OpenMemoryParts,
): Promise<BackendMemory | null> {
  return spoken.speak(signal, async (dialect) => {
    const { status, body } = await client.send(
      {
        method: 'GET',
        path: `/memory/${encodeURIComponent(id)}`,
        headers: apiKey ? dialect.authorisation(apiKey) : {},
        effect: 'reads',
        signal,
      },
      [404],
    );
    if (status === 404) {
      if (isObject(body)) return null;
      throw apiError(404, 'reads');
    }
    const memory = backendMemory(body) ?? backendMemory(objectOf(body).data);
    if (memory === null) throw invalidResponse('it is no memory', 'reads');
    return memory;
  });
}

/** `GET /memory/<id>` @throws MortiseError with the details of a `BackendFailure`. */
export function get(id: string, ctx: MemoryBackendContext, parts: OpenMemoryParts): Promise<BackendMemory | null> {
  return withinBudget(ctx, (signal) => getWithin(id, signal, parts));
}
