import { type CronNode, type CronNodeFacts, isJsonObject, type JsonObject, type PluginDefinition } from 'mortise/sdk';

/** A workflow step that calls a tool of the agent. */
export default function cronNodeToolCall(): PluginDefinition {
  return {
    key: 'cron-node-tool-call',
    register(host) {
      host.contribute('cron-node', 'tool_call', toolCallNode(host.facts('cron-node', 'tool_call')));
    },
  };
}

function toolCallNode(facts: CronNodeFacts): CronNode {
  return {
    ...facts,
    async check({ tool }, ctx) {
      const name = String(tool);
      if (!/\{\{|\{%/.test(name)) await ctx.checkTurn({ text: 'check', tools: [name] });
      return undefined;
    },
    async run({ tool, arguments: input = {} }, ctx) {
      const name = String(tool);
      const { reply, turnId } = await ctx.runTurn({
        text: `Call the tool ${name}.`,
        business: { tool: { name, input } },
      });
      const json = objectOf(reply);
      return { result: reply, output: { reply, turn_id: turnId, ...(json ? { json } : {}) } };
    },
  };
}

/** A tool's result is JSON, unless it has a text. */
function objectOf(reply: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(reply);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
