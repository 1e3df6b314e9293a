import type { GateDecision } from 'mortise/contracts/gate';
import {
  type ActiveContributions,
  isJsonObject,
  type JsonObject,
  type Logger,
  type ModelFacts,
  type ProviderFacts,
} from 'mortise/sdk';
import { agentError, failureOf } from './errors.js';

/** A model by the names that users and settings use. */
export interface ModelSlot {
  readonly providerId: string;
  readonly model: string;
}

/** The model of a turn and the adapter that calls it. */
export interface ResolvedModel extends ModelSlot {
  /** Key of the `provider` contribution. */
  readonly adapter: string;
  readonly capabilities: ProviderFacts['capabilities'];
  readonly settings: Readonly<Record<string, unknown>>;
  /** Context and output size, as far as the adapter declares them. */
  readonly limits: Pick<ModelFacts, 'context' | 'output'>;
}

/** The model of an unconfigured installation. */
const demo: ModelSlot = { providerId: 'demo', model: 'demo-chat' };

/** Adapters of providers whose adapter has another name. */
const adapters: Readonly<Record<string, string>> = { openai: 'openai-compatible' };

/** Parses the configured `<provider>/<model>`; a model's name may contain slashes. */
export function readSlot(text: string | undefined): ModelSlot | undefined {
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  return { providerId: text.slice(0, slash), model: text.slice(slash + 1) };
}

/** The chat's own choice, else the configured model, else the demo. */
export function chooseSlot(meta: JsonObject, configured: ModelSlot | undefined): ModelSlot {
  const own = meta.active_llm_override;
  if (isJsonObject(own) && typeof own.provider_id === 'string' && typeof own.model === 'string') {
    return { providerId: own.provider_id, model: own.model };
  }
  return configured ?? demo;
}

/**
 * Finds the adapter of a slot's provider and checks that it serves the model.
 *
 * @throws provider_not_found, provider_not_supported, model_not_found
 */
export function resolveModel(
  { providerId, model }: ModelSlot,
  providers: ActiveContributions<'provider'>,
): ResolvedModel {
  const adapter = adapters[providerId] ?? providerId;
  const found = providers.get(adapter);
  if (!found) {
    if (adapter === providerId) throw agentError('provider_not_found', { details: { provider_id: providerId } });
    throw agentError('provider_not_supported', { message: `adapter "${adapter}" is not supported` });
  }
  const { capabilities, models } = found.facts;
  const limits = models?.find(({ id }) => id === model);
  if (models && !limits) throw agentError('model_not_found', { details: { model } });
  return { providerId, model, adapter, capabilities, settings: {}, limits: limits ?? {} };
}

/**
 * Applies the gate's choice of a model tier: tier `low` replaces the resolved model by the low model. If there is none
 * or it cannot be used, the turn keeps the resolved model.
 */
export function applyTier(
  resolved: ResolvedModel,
  { model_tier: tier, low_model: low }: Pick<GateDecision, 'model_tier' | 'low_model'>,
  providers: ActiveContributions<'provider'>,
  log: Pick<Logger, 'warn'>,
): ResolvedModel {
  if (tier !== 'low' || !low) return resolved;
  const { provider_id: providerId, model } = low;
  try {
    return resolveModel({ providerId, model }, providers);
  } catch (error) {
    if (!failureOf(error)) throw error;
    log.warn({ code: 'low_model_unavailable', provider_id: providerId }, 'the low model cannot be used');
    return resolved;
  }
}
