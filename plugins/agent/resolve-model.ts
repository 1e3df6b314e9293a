import type { ModelFacts, ProviderFacts } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import { agentError } from './errors.js';
import type { ModelSlot } from './model-slot.js';

/** The model of a turn and the adapter that speaks to it. */
export interface ResolvedModel {
  readonly providerId: string;
  readonly model: string;
  /** Key of the `provider` contribution. */
  readonly adapter: string;
  readonly capabilities: ProviderFacts['capabilities'];
  readonly settings: Readonly<Record<string, unknown>>;
  /** How much it can read and write, as far as its adapter says. */
  readonly limits: Pick<ModelFacts, 'context' | 'output'>;
}

/** Providers whose adapter has another name than they have. */
const adapters: Readonly<Record<string, string>> = { openai: 'openai-compatible' };

/**
 * The adapter of a slot's provider: the one of its own name, or the one that speaks its language.
 *
 * @throws provider_not_found, provider_not_supported, model_not_found
 */
export function resolveModel(
  { providerId, model }: ModelSlot,
  providers: Pick<ActiveContributions<'provider'>, 'get'>,
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
