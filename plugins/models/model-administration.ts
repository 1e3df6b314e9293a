import type { ModelSlot } from 'mortise/contracts/models';
import { type CallContext, isJsonObject, mayConfigure, type Refusal } from 'mortise/sdk';
import { modelError } from './errors.js';
import type { ModelCache } from './model-cache.js';
import { optional } from './model-info.js';
import { patchProvider, readProviderId, unconfigured } from './provider-patch.js';
import type { ProviderStore } from './provider-store.js';
import { activeSlot, providerInfo } from './show-models.js';

interface AdministrationDeps {
  readonly cache: ModelCache;
  readonly store: ProviderStore;
  /** The names of all adapters, whether they are active or not. */
  readonly adapterNames: () => readonly string[];
  /** Reports a refused caller to the audit trail. */
  readonly refused: (refusal: Refusal) => void;
}

/** Changes of providers and of the active model, for routes and commands alike. */
export class ModelAdministration {
  readonly #deps: AdministrationDeps;

  constructor(deps: AdministrationDeps) {
    this.#deps = deps;
  }

  /** Creates a provider or changes its settings. @throws forbidden, invalid_provider_id, invalid_json, invalid_provider_config */
  async configure(providerId: string, patch: unknown, ctx: CallContext) {
    this.checkRight(ctx, 'models:configure');
    const id = readProviderId(providerId);
    const { cache, store, adapterNames } = this.#deps;
    if (isJsonObject(patch)) checkAdapter(patch.adapter, adapterNames());
    await store.change(ctx, ({ providers }) => ({
      provider: patchProvider(providers.find((one) => one.id === id && !one.hidden) ?? unconfigured(id), patch),
      entry: {
        operation: 'models:configure',
        targetSpace: `provider:${id}`,
        evidence: { provider_id: id, members: isJsonObject(patch) ? Object.keys(patch).slice(0, 40).toSorted() : [] },
      },
    }));
    const provider = (await cache.reload()).providers.get(id);
    if (!provider) throw modelError('provider_not_found', { details: { provider_id: id } });
    return providerInfo(provider);
  }

  /** Deletes a provider with its key; one of the catalogue or the environment is hidden until it is configured again. */
  async remove(providerId: string, ctx: CallContext): Promise<{ readonly deleted: boolean }> {
    this.checkRight(ctx, 'models:delete');
    const id = readProviderId(providerId);
    const { cache, store } = this.#deps;
    const table = await cache.reload();
    if (!table.providers.has(id)) return { deleted: false };
    const isKnown = cache.isGiven(id);
    await store.change(ctx, ({ active }) => ({
      ...(isKnown ? { provider: { ...unconfigured(id), hidden: true } } : { remove: id }),
      ...(active?.providerId === id ? { active: null } : {}),
      entry: { operation: 'models:delete', targetSpace: `provider:${id}`, evidence: { provider_id: id } },
    }));
    await cache.reload();
    return { deleted: true };
  }

  /** @throws forbidden, invalid_json, invalid_model_slot, provider_not_found, provider_disabled, model_not_found */
  async setActive(body: unknown, ctx: CallContext) {
    this.checkRight(ctx, 'models:activate');
    const slot = readSlotBody(body);
    const { cache, store } = this.#deps;
    let active: ModelSlot = slot;
    await store.change(ctx, (stored) => {
      active = cache.tableOf(stored).checkSlot(slot);
      return {
        active,
        entry: {
          operation: 'models:activate',
          targetSpace: `provider:${active.providerId}`,
          evidence: { provider_id: active.providerId, model: active.model },
        },
      };
    });
    await cache.reload();
    return activeSlot({ active });
  }

  /** Providers belong to all users: a key that is bound to one user may not change them. @throws forbidden */
  checkRight({ principal, correlationId }: CallContext, target: string): void {
    if (mayConfigure(principal)) return;
    this.#deps.refused({ reason: 'forbidden', subject: principal.id, target, correlationId });
    throw modelError('forbidden');
  }
}

/** Checks that the adapter exists; its form is checked with the other members. @throws invalid_provider_config */
function checkAdapter(name: unknown, known: readonly string[]): void {
  if (typeof name !== 'string' || name === '' || known.includes(name.toLowerCase())) return;
  throw modelError('invalid_provider_config', {
    message: `adapter "${name.slice(0, 64)}" is not supported`,
    details: { adapters: known },
    hint: `Choose one of: ${known.join(', ')}.`,
  });
}

function readSlotBody(body: unknown): ModelSlot {
  if (!isJsonObject(body)) throw modelError('invalid_json');
  const providerId = optional(body, 'provider_id', 'string')?.trim().toLowerCase() ?? '';
  const model = optional(body, 'model', 'string')?.trim() ?? '';
  if (providerId === '' || model === '') throw modelError('invalid_model_slot');
  return { providerId, model };
}
