import {
  type Command,
  type CommandFacts,
  type CommandInput,
  type CommandResult,
  type JsonObject,
  wrongUsage,
} from 'mortise/sdk';
import type { ModelAdministration } from './model-administration.js';
import type { ModelCache } from './model-cache.js';
import { activeSlot, providerInfos } from './show-models.js';

type Infos = ReturnType<typeof providerInfos>;

export function listCommand(facts: CommandFacts, cache: ModelCache): Command {
  return {
    ...facts,
    isRead: () => true,
    async run() {
      const infos = providerInfos(await cache.table());
      return success(infos, listText(infos));
    },
  };
}

export function configCommand(facts: CommandFacts, administration: ModelAdministration): Command {
  return {
    ...facts,
    async run(input, ctx) {
      const [providerId] = input.args;
      const patch = patchOf(input);
      if (providerId === undefined || input.args.length > 1) return wrongUsage(facts);
      if (typeof patch === 'string') return wrongUsage(facts, patch);
      const info = await administration.configure(providerId, patch, ctx);
      return success(
        info,
        `${info.id}: ${info.enabled ? 'enabled' : 'disabled'}, key ${info.current_api_key || 'unset'}`,
      );
    },
  };
}

export function activeGetCommand(facts: CommandFacts, cache: ModelCache): Command {
  return {
    ...facts,
    isRead: () => true,
    async run() {
      const slot = activeSlot(await cache.table());
      return success(slot, slotText(slot));
    },
  };
}

export function activeSetCommand(facts: CommandFacts, administration: ModelAdministration): Command {
  return {
    ...facts,
    async run({ options }, ctx) {
      const { providerId, model } = options;
      if (typeof providerId !== 'string' || typeof model !== 'string') {
        return wrongUsage(facts, '--provider-id and --model are required.');
      }
      const slot = await administration.setActive({ provider_id: providerId, model }, ctx);
      return success(slot, slotText(slot));
    },
  };
}

export function deleteCommand(facts: CommandFacts, administration: ModelAdministration): Command {
  return {
    ...facts,
    async run({ args }, ctx) {
      const [providerId] = args;
      if (providerId === undefined || args.length > 1) return wrongUsage(facts);
      const result = await administration.remove(providerId, ctx);
      return success(result, result.deleted ? `${providerId} is deleted.` : `There is no provider ${providerId}.`);
    },
  };
}

function success(data: unknown, text: string): CommandResult {
  return { exitCode: 0, data, text };
}

function slotText({ active_llm: { provider_id: providerId, model } }: ReturnType<typeof activeSlot>): string {
  return providerId === '' ? 'No model is active.' : `${providerId}/${model}`;
}

function listText(infos: Infos): string {
  return infos
    .map(({ id, adapter, enabled, has_api_key: hasKey, models }) => {
      const state = `${enabled ? 'enabled' : 'disabled'}, ${hasKey ? 'with a key' : 'without a key'}`;
      const names = models.map((model) => `  ${model.id}${'alias_of' in model ? ` = ${model.alias_of}` : ''}`);
      return [`${id} (${adapter}, ${state})`, ...names].join('\n');
    })
    .join('\n');
}

/** Options by the member of the patch that they set. */
const members: readonly (readonly [option: string, member: string, type: 'text' | 'number' | 'flag'])[] = [
  ['apiKey', 'api_key', 'text'],
  ['baseUrl', 'base_url', 'text'],
  ['displayName', 'display_name', 'text'],
  ['adapter', 'adapter', 'text'],
  ['enabled', 'enabled', 'flag'],
  ['reasoningEffort', 'reasoning_effort', 'text'],
  ['timeoutMs', 'timeout_ms', 'number'],
  ['maxRetries', 'max_retries', 'number'],
  ['store', 'store', 'flag'],
  ['attachments', 'attachments', 'flag'],
  ['allowUnknownModels', 'allow_unknown_models', 'flag'],
];

/** The patch of the options, or a sentence about what is wrong with them. */
function patchOf({ options }: CommandInput): JsonObject | string {
  const patch: Record<string, unknown> = {};
  for (const [option, member, type] of members) {
    const text = options[option];
    if (typeof text !== 'string') continue;
    patch[member] = type === 'text' ? text : type === 'number' ? Number(text) : text === 'true';
  }
  for (const [option, member, separator] of [
    ['header', 'headers', ':'],
    ['modelAlias', 'model_aliases', '='],
  ] as const) {
    const texts = options[option];
    if (!Array.isArray(texts)) continue;
    const pairs = (texts as readonly string[]).map((text) => {
      const at = text.indexOf(separator);
      return at < 1 ? undefined : ([text.slice(0, at).trim(), text.slice(at + 1).trim()] as const);
    });
    if (pairs.includes(undefined)) return `Each value must be written as name${separator}value.`;
    patch[member] = Object.fromEntries(pairs.filter((pair) => pair !== undefined));
  }
  return patch;
}
