import type { LayerQuery, SystemLayers, TurnService } from 'mortise/contracts/agent';
import { estimateTokens } from 'mortise/contracts/models';
import { type CallContext, type Command, type CommandFacts, MortiseError, type Route } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { layerHash, promptHash } from './layer-hash.js';

const previewPoints = 160;

type Features = Pick<Config, 'enable_prompt_templates' | 'enable_prompt_context_introspect' | 'enable_codex_mode_v2'>;
type Turns = Pick<TurnService, 'systemLayers'>;

/** The optional features that clients may offer. The route is public, so it returns nothing else. */
export function runtimeConfigRoute(config: Features): Route {
  const features = {
    prompt_templates: config.enable_prompt_templates,
    prompt_context_introspect: config.enable_prompt_context_introspect,
    codex_mode_v2: config.enable_codex_mode_v2,
  };
  return { handle: () => ({ body: { features } }) };
}

/** The layers of a system prompt with their hashes and sizes. */
export function systemLayersRoute(config: Features, turns: Turns): Route {
  return {
    async handle({ query }, ctx) {
      if (!config.enable_prompt_context_introspect) throw featureDisabled();
      const text = (name: string): string | undefined => query.get(name) || undefined;
      const layerQuery = {
        promptMode: text('prompt_mode'),
        taskCommand: text('task_command'),
        collaborationMode: text('collaboration_mode'),
        collaborationEvent: text('collaboration_event'),
        sessionId: text('session_id'),
      };
      return { body: await describe(config, turns, layerQuery, ctx) };
    },
  };
}

function featureDisabled(): MortiseError {
  return new MortiseError('feature_disabled', 'prompt context introspection is disabled', {
    status: 404,
    hint: 'Set MORTISE_ENABLE_PROMPT_CONTEXT_INTROSPECT=true.',
  });
}

/** The same as a command. Administrators may use it while the feature is off. */
export function layersCommand(facts: CommandFacts, config: Features, turns: Turns): Command {
  return {
    ...facts,
    isRead: () => true,
    async run({ options }, ctx) {
      if (!config.enable_prompt_context_introspect && !ctx.principal.admin) throw featureDisabled();
      const text = (name: string): string | undefined =>
        typeof options[name] === 'string' ? options[name] : undefined;
      const layerQuery = {
        promptMode: text('promptMode'),
        taskCommand: text('taskCommand'),
        collaborationMode: text('collaborationMode'),
        sessionId: text('sessionId'),
      };
      const data = await describe(config, turns, layerQuery, ctx);
      const lines = data.layers.map(
        ({ name, source, estimated_tokens }) => `${String(estimated_tokens).padStart(6)}  ${name}  (${source})`,
      );
      const head = `${data.mode_variant}, ${data.estimated_tokens_total} tokens, ${data.prompt_hash.slice(0, 12)}`;
      return { exitCode: 0, data, text: [head, ...lines].join('\n') };
    },
  };
}

async function describe(config: Features, turns: Turns, layerQuery: LayerQuery, ctx: CallContext) {
  const prompt = await turns.systemLayers(layerQuery, ctx);
  const variant = variantOf(prompt, config);
  const layers = prompt.layers.map(({ name, role, source, content }) => ({
    name,
    role,
    source,
    content_preview: preview(content),
    layer_hash: layerHash(content),
    estimated_tokens: estimateTokens(content.trim()),
  }));
  return {
    version: 'v1',
    mode_variant: variant,
    prompt_hash: promptHash(variant, prompt.collaborationMode, prompt.layers),
    layers,
    estimated_tokens_total: layers.reduce((total, { estimated_tokens }) => total + estimated_tokens, 0),
  };
}

function variantOf({ promptMode }: Pick<SystemLayers, 'promptMode'>, { enable_codex_mode_v2: v2 }: Features): string {
  if (promptMode === 'codex') return v2 ? 'codex_v2' : 'codex_v1';
  return promptMode === 'claude' ? 'claude_v1' : 'default';
}

function preview(content: string): string {
  const points = [...content.trim()];
  return points.length <= previewPoints ? points.join('') : `${points.slice(0, previewPoints - 3).join('')}...`;
}
