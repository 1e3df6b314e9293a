import type { CallContext, Points, PromptLayer, PromptRequest } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import type { PromptMode } from './business-params.js';
import { type AgentErrorCode, agentError } from './errors.js';

const unavailable: Readonly<Record<PromptMode, AgentErrorCode>> = {
  default: 'ai_tool_guide_unavailable',
  codex: 'codex_prompt_unavailable',
  claude: 'claude_prompt_unavailable',
};

/**
 * The system prompt of a mode: the layers of all its sources, in order. A source that fails ends the turn when it is
 * required, and is left out with a warning when it is not. A mode that no source knows has no prompt.
 *
 * @throws the mode's `*_prompt_unavailable`
 */
export async function buildLayers(
  points: Points,
  sources: ActiveContributions<'prompt-source'>,
  request: PromptRequest & { readonly promptMode: PromptMode },
  ctx: CallContext,
): Promise<readonly PromptLayer[]> {
  const { promptMode } = request;
  const known = sources.list();
  const ordered = known
    .filter(({ facts }) => facts.modes === undefined || facts.modes.includes(promptMode))
    .toSorted((a, b) => a.facts.order - b.facts.order || (a.key < b.key ? -1 : 1));
  if (promptMode !== 'default' && !ordered.some(({ facts }) => facts.modes?.includes(promptMode))) {
    throw agentError(unavailable[promptMode]);
  }
  const layers: PromptLayer[] = [];
  for (const { key, facts } of ordered) {
    try {
      layers.push(...(await points.call('prompt-source', key, (source, call) => source.build(request, call), ctx)));
    } catch (error) {
      if (ctx.signal.aborted) throw error;
      if (facts.required) throw agentError(unavailable[promptMode], { cause: error });
      ctx.log.warn({ source: key }, 'a prompt source failed and was left out');
    }
  }
  return layers;
}
