import type { CronNode, CronNodeFacts, CronTurnRequest, JsonObject, PluginDefinition } from 'mortise/sdk';
import { isBlankText, MortiseError } from 'mortise/sdk';

/** A workflow step that runs an agent turn. */
export default function cronNodeAgentTurn(): PluginDefinition {
  return {
    key: 'cron-node-agent-turn',
    register(host) {
      host.contribute('cron-node', 'agent_turn', agentTurnNode(host.facts('cron-node', 'agent_turn')));
    },
  };
}

function agentTurnNode(facts: CronNodeFacts): CronNode {
  return {
    ...facts,
    validate: ({ prompt }) => (isBlankText(String(prompt)) ? 'prompt is required' : undefined),
    async check(params, ctx) {
      const { model, tools } = params;
      const isRendered = (value: unknown) => /\{\{|\{%/.test(JSON.stringify(value ?? null));
      const known = {
        ...params,
        model: isRendered(model) ? undefined : model,
        tools: isRendered(tools) ? undefined : tools,
      };
      if (known.model !== undefined || known.tools !== undefined) await ctx.checkTurn(requestOf('check', known));
      return undefined;
    },
    async run(params, ctx) {
      const { prompt } = params;
      const text = typeof prompt === 'string' ? prompt : JSON.stringify(prompt);
      // Templates may have rendered to nothing.
      if (isBlankText(text)) throw new MortiseError('prompt_empty', 'the prompt is empty', { status: 400 });
      const { reply, turnId } = await ctx.runTurn(requestOf(text, params));
      return { result: reply, output: { reply, turn_id: turnId } };
    },
  };
}

function requestOf(text: string, { model, tools, prompt_mode, max_steps }: JsonObject): CronTurnRequest {
  return {
    text,
    business: {
      ...(prompt_mode === undefined ? {} : { prompt_mode }),
      ...(max_steps === undefined ? {} : { max_steps }),
    },
    ...(typeof model === 'string' ? { model: slotOf(model) } : {}),
    ...(Array.isArray(tools) ? { tools: tools.map(String) } : {}),
  };
}

/** `<provider>/<model>`; a model's name may contain slashes. */
function slotOf(text: string): { readonly providerId: string; readonly model: string } {
  const slash = text.indexOf('/');
  return { providerId: text.slice(0, slash).toLowerCase(), model: text.slice(slash + 1) };
}
