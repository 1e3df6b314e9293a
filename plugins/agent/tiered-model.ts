import type { GateDecision, Logger } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import type { ResolvedModel } from './resolve-model.js';

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
  const adapter = providers.get(low.provider_id);
  if (!adapter) {
    log.warn({ code: 'low_model_unavailable', provider_id: low.provider_id }, 'the low model cannot be used');
    return resolved;
  }
  const { provider_id: providerId, model } = low;
  return { providerId, model, adapter: providerId, capabilities: adapter.facts.capabilities, settings: {} };
}
