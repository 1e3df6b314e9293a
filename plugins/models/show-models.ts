import { maskCredential } from 'mortise/contracts/envs';
import type { Adapters, KnownProvider, ModelTable } from './model-table.js';
import { variablePrefix } from './model-table.js';
import { maskedHeaders } from './provider-patch.js';

/** A provider as the API shows it. Secrets are masked. */
export function providerInfo(provider: KnownProvider) {
  const { id, stored, models, aliases } = provider;
  const {
    reasoning_effort: effort,
    timeout_ms: timeoutMs,
    store = false,
    max_retries: maxRetries = 2,
  } = stored.options;
  const hasHeaders = Object.keys(stored.headers).length > 0;
  const named = Object.entries(aliases).map(([alias, target]) => {
    const { name, capabilities, limit } = models.find((model) => model.id === target) ?? { name: alias };
    return {
      id: alias,
      name,
      alias_of: target,
      ...(capabilities ? { capabilities } : {}),
      ...(limit ? { limit } : {}),
    };
  });
  const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
  return {
    id,
    name: id.toUpperCase(),
    display_name: provider.displayName,
    adapter: provider.adapter,
    openai_compatible: provider.adapter === 'openai-compatible',
    api_key_prefix: `${variablePrefix(id)}_API_KEY`,
    models: [...models.map(({ created_at: _, ...model }) => model).toSorted(byId), ...named.toSorted(byId)],
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    store,
    ...(hasHeaders ? { headers: maskedHeaders(stored.headers) } : {}),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(Object.keys(aliases).length > 0 ? { model_aliases: aliases } : {}),
    allow_custom_base_url: true,
    enabled: provider.enabled,
    has_api_key: provider.hasKey,
    current_api_key: provider.apiKey === undefined ? '' : maskCredential(provider.apiKey),
    current_base_url: provider.baseUrl ?? '',
    allow_unknown_models: provider.allowUnknownModels,
    max_retries: maxRetries,
    ...(stored.options.attachments === undefined ? {} : { attachments: stored.options.attachments }),
  };
}

export function providerInfos(table: ModelTable) {
  return [...table.providers.values()].map(providerInfo);
}

export function activeSlot({ active }: Pick<ModelTable, 'active'>) {
  return { active_llm: { provider_id: active?.providerId ?? '', model: active?.model ?? '' } };
}

/** The names of the well-known adapters, which are listed first. */
const knownTypes: readonly (readonly [id: string, name: string])[] = [
  ['openai', 'OpenAI'],
  ['openai-compatible', 'OpenAI-compatible'],
  ['codex-compatible', 'Codex-compatible'],
  ['anthropic', 'Anthropic'],
];

/** Every name that a provider's adapter may have. */
export function adapterNames(contributed: readonly { readonly key: string }[]): readonly string[] {
  const own = contributed.map(({ key }) => key).filter((key) => key !== 'demo');
  return [...new Set([...knownTypes.map(([id]) => id), ...own])];
}

export function catalogInfo(table: ModelTable, adapters: Adapters) {
  const known = new Set(knownTypes.map(([id]) => id));
  const others = [...adapters].filter(([key]) => !known.has(key) && key !== 'demo');
  const defaults = [...table.providers.values()].flatMap(({ id, defaultModel }) =>
    defaultModel === undefined ? [] : [[id, defaultModel] as const],
  );
  return {
    providers: providerInfos(table),
    defaults: Object.fromEntries(defaults),
    ...activeSlot(table),
    provider_types: [
      ...knownTypes.map(([id, name]) => ({ id, display_name: name })),
      ...others.map(([key, { displayName = key }]) => ({ id: key, display_name: displayName })),
    ],
  };
}
