import type { ProviderFacts } from 'mortise/sdk';
import type { ActiveContributions } from './active-contributions.js';
import { agentError } from './errors.js';

/** The model of a turn and the adapter that speaks to it. */
export interface ResolvedModel {
  readonly providerId: string;
  readonly model: string;
  /** Key of the `provider` contribution. */
  readonly adapter: string;
  readonly capabilities: ProviderFacts['capabilities'];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What a turn uses while nothing else is chosen. */
const fallback = { providerId: 'demo', model: 'demo-chat', adapter: 'demo' } as const;

/** @throws provider_not_found */
export function resolveModel(providers: ActiveContributions<'provider'>): ResolvedModel {
  const adapter = providers.get(fallback.adapter);
  if (!adapter) throw agentError('provider_not_found', { details: { provider_id: fallback.providerId } });
  return { ...fallback, capabilities: adapter.facts.capabilities, settings: {} };
}
