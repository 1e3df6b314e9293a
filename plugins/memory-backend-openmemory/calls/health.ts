import { isCodedError, type MemoryBackendContext } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import { queryDialect } from '../dialect/query-dialect.js';
import { searchDialect } from '../dialect/search-dialect.js';
import { withinBudget } from '../http/budget.js';
import { objectOf } from '../json.js';
import type { OpenMemoryParts } from '../parts.js';

const LONGEST_MS = 5_000;

const dialectsOf: Readonly<Record<Config['dialect'], readonly (typeof searchDialect)[]>> = {
  auto: [searchDialect, queryDialect],
  search: [searchDialect],
  query: [queryDialect],
};

/** `GET /health`; a failure is an answer here. */
export async function health(
  ctx: MemoryBackendContext,
  { client, apiKey }: OpenMemoryParts,
  configured: Config['dialect'],
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const timeoutMs = ctx.timeoutMs > 0 ? Math.min(ctx.timeoutMs, LONGEST_MS) : LONGEST_MS;
  try {
    const { body } = await withinBudget({ signal: ctx.signal, timeoutMs }, (signal) =>
      client.send({
        method: 'GET',
        path: '/health',
        headers: apiKey ? queryDialect.authorisation(apiKey) : {},
        effect: 'reads',
        signal,
      }),
    );
    const ok = dialectsOf[configured].some((dialect) => dialect.isHealthy(objectOf(body)));
    return { ok, detail: ok ? 'ready' : 'OpenMemory does not say that it is well' };
  } catch (error) {
    return { ok: false, detail: isCodedError(error) ? error.message : 'OpenMemory could not be asked' };
  }
}
