import type { GateDecision } from 'mortise/contracts/gate';
import type { Logger } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import { failureOf } from './errors.js';
import { type ResolvedModel, resolveModel } from './resolve-model.js';

/**
 * The model of a turn after the gate's word on it: the tier `low` takes the low model in the place of the one that was
 * resolved. Where there is none, or it cannot be used, the turn goes on with what it had.
 */
export function tieredModel(
  resolved: ResolvedModel,
  { model_tier: tier, low_model: low }: Pick<GateDecision, 'model_tier' | 'low_model'>,
  providers: Pick<ActiveContributions<'provider'>, 'get'>,
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
