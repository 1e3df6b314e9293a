import { type CallContext, MortiseError, type PromptLayer, type PromptRequest } from 'mortise/sdk';
import { effectiveMode, type PromptMode } from './business-params.js';
import { type AgentErrorCode, agentError } from './errors.js';
import type { TurnDeps } from './turn-deps.js';

const unavailable: Readonly<Record<PromptMode, AgentErrorCode>> = {
  default: 'ai_tool_guide_unavailable',
  codex: 'codex_prompt_unavailable',
  claude: 'claude_prompt_unavailable',
};

/**
 * The system prompt of a mode: the layers of all its sources, in order. A required source that fails ends the turn;
 * an optional one is omitted with a warning. A mode other than `default` needs a source of its own.
 *
 * @throws the mode's `*_prompt_unavailable`
 */
export async function buildLayers(
  { points, prompts }: Pick<TurnDeps, 'points' | 'prompts'>,
  request: PromptRequest,
  ctx: CallContext,
): Promise<readonly PromptLayer[]> {
  const promptMode = effectiveMode(request.promptMode, {});
  const ordered = [...prompts.current.values()]
    .filter(({ facts }) => facts.modes === undefined || facts.modes.includes(promptMode))
    .sort((a, b) => a.facts.order - b.facts.order || (a.key < b.key ? -1 : 1));
  if (promptMode !== 'default' && !ordered.some(({ facts }) => facts.modes?.includes(promptMode))) {
    throw agentError(unavailable[promptMode]);
  }
  const layers: PromptLayer[] = [];
  for (const { key, facts } of ordered) {
    try {
      layers.push(...(await points.call('prompt-source', key, (source, call) => source.build(request, call), ctx)));
    } catch (error) {
      if (ctx.signal.aborted) throw error;
      if (facts.required) {
        // The source's message names the text that is missing or unusable.
        const details = error instanceof MortiseError ? { reason: error.message } : undefined;
        throw agentError(unavailable[promptMode], { cause: error, ...(details && { details }) });
      }
      ctx.log.warn({ source: key }, 'a prompt source failed and was omitted');
    }
  }
  return layers;
}
