import type { ModelNaming, ModelSlot, OfferedModel, ResolvedModel } from 'mortise/contracts/models';
import type { ModelFacts, ProviderFacts, ProviderSettings } from 'mortise/sdk';
import { type Catalogue, type CatalogueProvider, mergeModels } from './catalogue.js';
import { modelError } from './errors.js';
import type { ModelInfo } from './model-info.js';
import { isProviderId, type StoredProvider, unconfigured } from './provider-patch.js';
import type { StoredModels } from './provider-store.js';

/** Facts of the active adapters, by key. */
export type Adapters = ReadonlyMap<string, ProviderFacts>;

/** Reads an environment variable, which is the default of a provider's setting. */
type ReadVariable = (name: string) => string | undefined;

/** Variables that may belong to providers. */
export interface ProviderVariables {
  readonly read: ReadVariable;
  /** The names of the variables that are set. */
  names(): Iterable<string>;
}

/** A provider as requests use it: stored settings, catalogue and environment combined. */
export interface KnownProvider {
  readonly id: string;
  readonly displayName: string;
  /** Key of the adapter, which may not be active. */
  readonly adapter: string;
  readonly enabled: boolean;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  /** Whether requests have a key: the provider's, or that of the adapter's configuration. */
  readonly hasKey: boolean;
  /** It has neither a key nor an address, and the adapter's configuration has both. */
  readonly usesAdapterAccount: boolean;
  /** Models, without aliases. */
  readonly models: readonly ModelInfo[];
  readonly aliases: Readonly<Record<string, string>>;
  readonly allowUnknownModels: boolean;
  readonly defaultModel: string | undefined;
  readonly stored: StoredProvider;
}

interface TableInput {
  readonly catalogue: Catalogue;
  readonly stored: StoredModels;
  readonly adapters: Adapters;
  readonly variables: ProviderVariables;
  /** The configured model of requests without one. */
  readonly configured: ModelSlot | undefined;
  /** Models that are tried when others fail. */
  readonly fallbacks: readonly ModelSlot[];
  /** Limits of providers without limits. */
  readonly limits: DefaultLimits;
}

export type DefaultLimits = Pick<ProviderSettings, 'timeout_ms' | 'idle_timeout_ms' | 'max_retries'>;

/** The model of an unconfigured installation. */
const demoSlot: ModelSlot = { providerId: 'demo', model: 'demo-chat' };

/** Providers whose account may be the one in their adapter's configuration. */
const accountOfAdapter: Readonly<Record<string, string>> = { 'openai-compatible': 'openai' };

/** The model names of a naming, whichever provider serves them, and the adapters that serve them. */
const namings: Readonly<Record<ModelNaming, { readonly family: RegExp; readonly adapters: readonly string[] }>> = {
  anthropic: { family: /^claude/i, adapters: ['anthropic'] },
  openai: { family: /^(?:gpt|o[1-9]|codex)/i, adapters: ['openai-compatible', 'codex-compatible'] },
};

/** `created_at` of models whose age is not known. */
const unknownAge = '2025-01-01T00:00:00Z';

/** A snapshot of all model data. Immutable; resolved models are cached in it. */
export class ModelTable {
  /** By id, in order of id. */
  readonly providers: ReadonlyMap<string, KnownProvider>;
  readonly active: ModelSlot | undefined;
  readonly #adapters: Adapters;
  readonly #variable: ReadVariable;
  readonly #hidden: ReadonlySet<string>;
  readonly #configured: ModelSlot | undefined;
  readonly #limits: DefaultLimits;
  readonly #resolved = new Map<string, ResolvedModel>();

  constructor({ catalogue, stored, adapters, variables, configured, fallbacks, limits }: TableInput) {
    const named = [stored.active, configured, ...fallbacks].filter((slot) => slot !== undefined);
    const found = fromVariables(variables, new Set([...catalogue.keys(), ...stored.providers.map(({ id }) => id)]));
    const entries = new Map([
      ...catalogue,
      ...found
        .filter((id) => !adapters.has(id) || callsAnyApi.has(id))
        .map((id) => [id, namedModels(id, named)] as const),
    ]);
    this.providers = knownProviders(entries, stored.providers, adapters, variables.read);
    this.active = stored.active;
    this.#adapters = adapters;
    this.#variable = variables.read;
    this.#hidden = new Set(stored.providers.filter(({ hidden }) => hidden).map(({ id }) => id));
    this.#configured = configured;
    this.#limits = limits;
  }

  /** The model of requests without one. */
  defaultSlot(configured: ModelSlot | undefined): ModelSlot {
    return this.active ?? configured ?? this.#configured ?? demoSlot;
  }

  /** @throws provider_not_found, provider_disabled, model_not_found, provider_not_supported */
  resolve(slot: ModelSlot): ResolvedModel {
    const key = `${slot.providerId}/${slot.model}`;
    const known = this.#resolved.get(key);
    if (known) return known;
    const resolved = this.#resolve(slot);
    // Models of requests may have any name.
    if (this.#resolved.size >= 1_000) this.#resolved.clear();
    this.#resolved.set(key, resolved);
    return resolved;
  }

  /**
   * The slot with its alias resolved.
   * @throws provider_not_found, provider_disabled, model_not_found
   */
  checkSlot({ providerId, model }: ModelSlot): ModelSlot {
    const provider = this.#provider(providerId);
    if (!provider) {
      const facts = this.#ownAdapter(providerId);
      if (!facts) throw modelError('provider_not_found', { details: { provider_id: providerId } });
      if (facts.models && !facts.models.some(({ id }) => id === model)) throw unknownModel(model);
      return { providerId, model };
    }
    if (!provider.enabled) throw modelError('provider_disabled', { details: { provider_id: providerId } });
    const target = provider.aliases[model] ?? model;
    if (!provider.allowUnknownModels && !provider.models.some(({ id }) => id === target)) {
      throw unknownModel(model, `Set allow_unknown_models of ${providerId}, or add the model to its models.`);
    }
    return { providerId, model: target };
  }

  #resolve(slot: ModelSlot): ResolvedModel {
    const { providerId, model } = this.checkSlot(slot);
    const provider = this.#provider(providerId);
    const adapter = provider?.adapter ?? providerId;
    const facts = this.#adapters.get(adapter);
    if (!facts) throw modelError('provider_not_supported', { message: `adapter "${adapter}" is not supported` });
    const info = provider?.models.find(({ id }) => id === model);
    const declared = facts.models?.find(({ id }) => id === model);
    const { attachment, reasoning, tool_call: toolCall } = info?.capabilities ?? {};
    const { context, output } = { ...declared, ...info?.limit };
    const capabilities = {
      ...facts.capabilities,
      attachments: (provider?.stored.options.attachments ?? facts.capabilities.attachments) && attachment !== false,
      reasoning: facts.capabilities.reasoning && reasoning !== false,
      toolCall: facts.capabilities.toolCall && toolCall !== false,
    };
    return Object.freeze({
      providerId,
      model,
      adapter,
      capabilities,
      settings: provider ? settingsOf(provider, capabilities.reasoning, output, this.#limits) : {},
      limits: { ...(context === undefined ? {} : { context }), ...(output === undefined ? {} : { output }) },
    });
  }

  /** The model of a stateless request, by the first rule that matches. */
  route(name: string, naming: ModelNaming): ResolvedModel | undefined {
    const { family, adapters } = namings[naming];
    const slash = name.indexOf('/');
    const named =
      slash < 0 ? undefined : this.#find({ providerId: name.slice(0, slash), model: name.slice(slash + 1) });
    if (named) return named;
    const usable = this.#byPreference(adapters);
    for (const provider of usable) {
      const isListed = provider.models.some(({ id }) => id === name) || Object.hasOwn(provider.aliases, name);
      const found = isListed ? this.#find({ providerId: provider.id, model: name }) : undefined;
      if (found) return found;
    }
    if (!family.test(name)) return undefined;
    const open = usable.find(({ adapter, allowUnknownModels }) => adapters.includes(adapter) && allowUnknownModels);
    const passed = open && this.#find({ providerId: open.id, model: name });
    return passed ?? this.#find(this.defaultSlot(undefined)) ?? this.#find(demoSlot);
  }

  /** The models of enabled providers that have a key, and those of adapters without providers. */
  list(): readonly OfferedModel[] {
    const offered: OfferedModel[] = [];
    for (const provider of this.providers.values()) {
      if (!provider.enabled || !provider.hasKey) continue;
      for (const { id, name, created_at: createdAt = unknownAge } of provider.models) {
        offered.push({ id: `${provider.id}/${id}`, displayName: name, providerId: provider.id, createdAt });
      }
      for (const [alias, target] of Object.entries(provider.aliases)) {
        const createdAt = provider.models.find(({ id }) => id === target)?.created_at ?? unknownAge;
        offered.push({ id: alias, displayName: alias, providerId: provider.id, createdAt });
      }
    }
    for (const [key, facts] of this.#adapters) {
      if (!this.#ownAdapter(key)) continue;
      const models = facts.models?.map(({ id }) => id) ?? (key === demoSlot.providerId ? [demoSlot.model] : []);
      for (const id of models) {
        offered.push({ id: `${key}/${id}`, displayName: id, providerId: key, createdAt: unknownAge });
      }
    }
    return offered;
  }

  /** Enabled providers with a key: those of the adapters first, then the active one, then by id. */
  #byPreference(adapters: readonly string[]): readonly KnownProvider[] {
    const rank = ({ id, adapter }: KnownProvider): number =>
      adapters.includes(adapter) ? 0 : id === this.active?.providerId ? 1 : 2;
    return [...this.providers.values()]
      .filter(({ enabled, hasKey }) => enabled && hasKey)
      .toSorted((a, b) => rank(a) - rank(b));
  }

  #find(slot: ModelSlot): ResolvedModel | undefined {
    try {
      return this.resolve(slot);
    } catch {
      return undefined;
    }
  }

  /** A provider with an address but no key in the environment exists only for requests that name it. */
  #provider(id: string): KnownProvider | undefined {
    const known = this.providers.get(id);
    if (known || this.#hidden.has(id) || this.#adapters.has(id) || !isProviderId(id)) return known;
    if (this.#variable(`${variablePrefix(id)}_BASE_URL`) === undefined) return undefined;
    return knownProvider(unconfigured(id), { models: [] }, this.#adapters, this.#variable);
  }

  /** An adapter is also a provider of the same name, unless one is configured or the adapter calls any API. */
  #ownAdapter(key: string): ProviderFacts | undefined {
    return this.providers.has(key) || callsAnyApi.has(key) ? undefined : this.#adapters.get(key);
  }
}

/** Adapters of APIs, which need a provider with an address and a key. */
const callsAnyApi: ReadonlySet<string> = new Set(['openai-compatible', 'codex-compatible', 'anthropic']);

function unknownModel(model: string, hint?: string): Error {
  return modelError('model_not_found', { details: { model }, ...(hint === undefined ? {} : { hint }) });
}

/**
 * Providers with both an address and a key in the environment: a single variable may belong to another program.
 * Variables of the platform are excluded.
 */
function fromVariables({ names }: ProviderVariables, known: ReadonlySet<string>): readonly string[] {
  const set = new Set(names());
  const prefixes = new Set([...known].map(variablePrefix));
  return [...set].flatMap((name) => {
    const prefix = /^([A-Z0-9][A-Z0-9_]*)_BASE_URL$/.exec(name)?.[1];
    if (prefix === undefined || prefixes.has(prefix) || !set.has(`${prefix}_API_KEY`)) return [];
    const id = prefix.toLowerCase().replaceAll('_', '-');
    return /^(?:MORTISE|NEXTAI)(?:_|$)/.test(prefix) || !isProviderId(id) ? [] : [id];
  });
}

/** The models of such a provider: those that settings name. */
function namedModels(id: string, named: readonly ModelSlot[]): CatalogueProvider {
  const models = named.filter(({ providerId }) => providerId === id).map(({ model }) => modelOf({ id: model }));
  return { models: mergeModels(models, []) };
}

/** The prefix of a provider's variables: `OPENAI` of `OPENAI_API_KEY`. */
export function variablePrefix(id: string): string {
  return id.toUpperCase().replaceAll(/[-. ]/g, '_');
}

function knownProviders(
  catalogue: Catalogue,
  rows: readonly StoredProvider[],
  adapters: Adapters,
  variable: ReadVariable,
): ReadonlyMap<string, KnownProvider> {
  const stored = new Map(rows.map((row) => [row.id, row]));
  const ids = [...new Set([...catalogue.keys(), ...stored.keys()])].toSorted();
  const known = ids.flatMap((id) => {
    const row = stored.get(id) ?? unconfigured(id);
    return row.hidden ? [] : [knownProvider(row, catalogue.get(id) ?? { models: [] }, adapters, variable)];
  });
  return new Map(known.map((provider) => [provider.id, provider]));
}

function knownProvider(
  stored: StoredProvider,
  entry: CatalogueProvider,
  adapters: Adapters,
  variable: ReadVariable,
): KnownProvider {
  const { id, options } = stored;
  const prefix = variablePrefix(id);
  const adapter = adapterOf(id, options.adapter ?? entry.adapter);
  const apiKey = stored.apiKey ?? variable(`${prefix}_API_KEY`);
  const facts = adapters.get(adapter);
  const usesAdapterAccount =
    accountOfAdapter[adapter] === id &&
    facts?.configured === true &&
    stored.apiKey === undefined &&
    options.base_url === undefined;
  // The configuration of the adapter's account may name the only models it may use.
  const allowed = usesAdapterAccount ? facts.models?.map(modelOf) : undefined;
  return {
    id,
    displayName: options.display_name ?? entry.displayName ?? id,
    adapter,
    enabled: options.enabled ?? true,
    apiKey,
    baseUrl: options.base_url ?? variable(`${prefix}_BASE_URL`)?.replace(/\/+$/, '') ?? entry.baseUrl,
    hasKey: apiKey !== undefined || usesAdapterAccount || !callsAnyApi.has(adapter),
    usesAdapterAccount,
    models: mergeModels(allowed ?? entry.models, options.models ?? []),
    aliases: options.model_aliases ?? {},
    allowUnknownModels: options.allow_unknown_models ?? (allowed ? false : (entry.allowUnknownModels ?? true)),
    defaultModel: entry.defaultModel ?? options.models?.[0]?.id,
    stored,
  };
}

function modelOf({ id, context, output }: ModelFacts): ModelInfo {
  const limit = { ...(context === undefined ? {} : { context }), ...(output === undefined ? {} : { output }) };
  return { id, name: id, limit };
}

/** The adapter of a provider, from its settings or its id. */
function adapterOf(id: string, chosen: string | undefined): string {
  if (chosen !== undefined) return chosen === 'openai' ? 'openai-compatible' : chosen;
  for (const adapter of ['codex-compatible', 'anthropic']) {
    if (id === adapter || id.startsWith(`${adapter}-`)) return adapter;
  }
  return 'openai-compatible';
}

/** The settings that the adapter is called with. A provider without an account uses the adapter's configuration. */
function settingsOf(
  provider: KnownProvider,
  reasons: boolean,
  output: number | undefined,
  limits: DefaultLimits,
): ProviderSettings {
  const { stored, apiKey, baseUrl, usesAdapterAccount } = provider;
  const { reasoning_effort: effort, store, timeout_ms, max_retries, attachments } = stored.options;
  const members: ProviderSettings = {
    ...(usesAdapterAccount ? {} : { api_key: apiKey, base_url: baseUrl }),
    headers: Object.keys(stored.headers).length > 0 ? stored.headers : undefined,
    reasoning_effort: reasons ? effort : undefined,
    store,
    timeout_ms: timeout_ms ?? limits.timeout_ms,
    idle_timeout_ms: limits.idle_timeout_ms,
    max_retries: max_retries ?? limits.max_retries,
    attachments,
    max_output_tokens: output,
  };
  return Object.freeze(Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)));
}
