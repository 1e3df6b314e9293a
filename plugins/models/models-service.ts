import type { ModelSlot, ModelsService, ResolvedModel } from 'mortise/contracts/models';
import { isCodedError, type Logger } from 'mortise/sdk';
import { modelError } from './errors.js';
import type { ModelCache } from './model-cache.js';
import type { ModelTable } from './model-table.js';

/** Parses `<provider>/<model>`; a model's name may contain slashes. */
export function readSlot(text: string): ModelSlot {
  const slash = text.indexOf('/');
  return { providerId: text.slice(0, slash).toLowerCase(), model: text.slice(slash + 1) };
}

export function modelsService(cache: ModelCache, fallbacks: readonly ModelSlot[], log: Logger): ModelsService {
  return {
    async resolve(own, configured) {
      const table = await cache.table();
      return resolveForTurn(table, own ?? table.defaultSlot(configured));
    },
    async fallbacks({ providerId, model }) {
      if (fallbacks.length === 0) return [];
      const table = await cache.table();
      const found: ResolvedModel[] = [];
      for (const slot of fallbacks) {
        try {
          const resolved = table.resolve(slot);
          if (resolved.providerId !== providerId || resolved.model !== model) found.push(resolved);
        } catch (error) {
          if (!isCodedError(error)) throw error;
          log.warn({ code: error.code, provider_id: slot.providerId }, 'a fallback model cannot be used');
        }
      }
      return found;
    },
    route: async (name, naming) => (await cache.table()).route(name, naming),
    list: async () => (await cache.table()).list(),
  };
}

/** Resolves with the error messages of turns, whose model was chosen earlier. */
function resolveForTurn(table: ModelTable, slot: ModelSlot): ResolvedModel {
  try {
    return table.resolve(slot);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const details = error.details ? { details: error.details } : {};
    if (error.code === 'provider_disabled') {
      throw modelError('provider_disabled', {
        message: 'active provider is disabled',
        hint: `Enable the provider ${slot.providerId}, or choose a model of another one.`,
        ...details,
      });
    }
    if (error.code !== 'model_not_found') throw error;
    throw modelError('model_not_found', { message: 'active model is not available for provider', ...details });
  }
}
