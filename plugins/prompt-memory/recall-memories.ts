import { mayUseSpace } from 'mortise/contracts/memory-gateway';
import {
  boundUser,
  type CallContext,
  callOptions,
  extendContext,
  isCodedError,
  type Points,
  type PromptLayer,
  type PromptRequest,
} from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { readMemories, recallLayer } from './recall-layer.js';

interface RecallDeps {
  readonly points: Pick<Points, 'call'>;
  readonly projectKey: string;
  readonly config: Pick<Config, 'spaces' | 'token_budget' | 'time_limit_ms' | 'most' | 'min_score'>;
}

const queryTool = 'memory_query';
/** Maximum characters of a message that are searched for. */
const maxQueryLength = 2_000;

/**
 * The memories that match the message of a turn, searched for its principal. A search that fails or takes too long returns
 * none, so a turn never fails or waits longer because of it.
 */
export async function recallMemories(
  { points, projectKey, config }: RecallDeps,
  { userText = '', userId, taskCommand }: PromptRequest,
  ctx: CallContext,
): Promise<readonly PromptLayer[]> {
  const query = userText.trim().slice(0, maxQueryLength);
  if (query === '' || taskCommand !== undefined) return [];
  const user = boundUser(ctx.principal) ?? userId;
  const spaces = config.spaces
    .flatMap((space) => nameSpace(space, user, projectKey))
    .filter((space) => mayUseSpace(ctx.principal, space));
  if (spaces.length === 0) return [];
  const filters = config.min_score > 0 ? { filters: { min_score: config.min_score } } : {};
  const args = { query, spaces: [...new Set(spaces)], top_k: config.most, ...filters };
  try {
    const result = await points.call(
      'tool',
      queryTool,
      (tool, call) => tool.run(args, extendContext(call, { caller: 'agent' as const })),
      { ...callOptions(ctx), timeoutMs: config.time_limit_ms },
    );
    const layer = recallLayer(readMemories(result), config.token_budget);
    return layer ? [layer] : [];
  } catch (error) {
    ctx.signal.throwIfAborted();
    const code = isCodedError(error) ? error.code : 'unexpected';
    // Without a memory gateway there is nothing to recall.
    if (code !== 'contribution_unknown') ctx.log.warn({ code }, 'memories could not be recalled for a turn');
    return [];
  }
}

/** Empty when the space needs a user, and there is none or its name is not valid in a space. */
function nameSpace(space: string, user: string | undefined, project: string): readonly string[] {
  if (space.includes('{user}') && (user === undefined || /\s|^$/.test(user))) return [];
  return [space.replaceAll('{user}', () => user ?? '').replaceAll('{project}', () => project)];
}
