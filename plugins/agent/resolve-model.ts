import type { GateDecision } from 'mortise/contracts/gate';
import type { ModelSlot, ModelsService, ResolvedModel } from 'mortise/contracts/models';
import { isJsonObject, type JsonObject, type Logger } from 'mortise/sdk';
import { failureOf } from './errors.js';

/** Parses the configured `<provider>/<model>`; a model's name may contain slashes. */
export function readSlot(text: string | undefined): ModelSlot | undefined {
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  return { providerId: text.slice(0, slash).toLowerCase(), model: text.slice(slash + 1) };
}

/** The model that a chat has chosen. */
export function ownSlot({ active_llm_override: own }: JsonObject): ModelSlot | undefined {
  if (!isJsonObject(own) || typeof own.provider_id !== 'string' || typeof own.model !== 'string') return undefined;
  return { providerId: own.provider_id, model: own.model };
}

/**
 * Applies the gate's choice of a model tier: tier `low` replaces the resolved model by the low model. If there is none
 * or it cannot be used, the turn keeps the resolved model.
 */
export async function applyTier(
  resolved: ResolvedModel,
  { model_tier: tier, low_model: low }: Pick<GateDecision, 'model_tier' | 'low_model'>,
  models: Pick<ModelsService, 'resolve'>,
  log: Pick<Logger, 'warn'>,
): Promise<ResolvedModel> {
  if (tier !== 'low' || !low) return resolved;
  const { provider_id: providerId, model } = low;
  try {
    return await models.resolve({ providerId, model });
  } catch (error) {
    if (!failureOf(error)) throw error;
    log.warn({ code: 'low_model_unavailable', provider_id: providerId }, 'the low model cannot be used');
    return resolved;
  }
}
