import { isCredentialMask, maskCredential } from 'mortise/contracts/envs';
import type { ModelDocuments, ModelSettings, ModelSettingsService, ModelSlot } from 'mortise/contracts/models';
import {
  type CallContext,
  type Database,
  isCodedError,
  isJsonObject,
  isSensitiveName,
  type JsonObject,
} from 'mortise/sdk';
import { modelError, reading } from './errors.js';
import type { ModelCache } from './model-cache.js';
import { optional } from './model-info.js';
import { maskedHeaders, patchProvider, readProviderId, type StoredProvider, unconfigured } from './provider-patch.js';
import type { ProviderStore, StoredModels } from './provider-store.js';

interface SettingsDeps {
  readonly database: Pick<Database, 'afterCommit'>;
  readonly cache: ModelCache;
  readonly store: ProviderStore;
  /** @throws forbidden */
  readonly checkRight: (ctx: CallContext, target: string) => void;
}

/** The service `model-settings`. */
export function modelSettings({ database, cache, store, checkRight }: SettingsDeps): ModelSettingsService {
  const readDocuments = (stored: StoredModels, documents: ModelDocuments): StoredModels => {
    const providers = documents.providers === undefined ? stored.providers : readProviders(stored, documents.providers);
    if (documents.active !== undefined) {
      return { providers, active: readActive(cache, { ...stored, providers }, documents.active) };
    }
    return { providers, active: remaining(stored, providers) };
  };
  return {
    read: async (options) => settingsOf(await store.read(options?.trx)),
    masked: ({ providers, active }) => ({
      providers: Object.fromEntries(Object.entries(providers).map(([id, entry]) => [id, maskEntry(entry)])),
      active,
    }),
    check: async (documents, options) => settingsOf(readDocuments(await store.read(options?.trx), documents)),
    async replace(documents, ctx, options) {
      checkRight(ctx, 'models:replace');
      await store.replace(
        ctx,
        (stored) => {
          const { providers, active } = readDocuments(stored, documents);
          const ids = providers.map(({ id }) => id);
          const evidence = { documents: Object.keys(documents).toSorted(), providers: ids.slice(0, 100) };
          return { providers, active, entry: { operation: 'models:replace', targetSpace: null, evidence } };
        },
        options?.trx,
      );
      if (options?.trx) database.afterCommit(options.trx, () => cache.invalidate());
      else await cache.reload();
    },
  };
}

function settingsOf({ providers, active }: StoredModels): ModelSettings {
  return { providers: Object.fromEntries(providers.map((provider) => [provider.id, entryOf(provider)])), active };
}

function entryOf({ options, apiKey, headers, hidden }: StoredProvider): JsonObject {
  if (hidden) return { hidden: true };
  return {
    ...options,
    ...(apiKey === undefined ? {} : { api_key: apiKey }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
}

function maskEntry(entry: JsonObject): JsonObject {
  const { api_key: key, headers } = entry;
  return {
    ...entry,
    ...(typeof key === 'string' ? { api_key: maskCredential(key) } : {}),
    ...(isJsonObject(headers) ? { headers: maskedHeaders(headers as Readonly<Record<string, string>>) } : {}),
  };
}

function readProviders({ providers: stored }: StoredModels, document: unknown): readonly StoredProvider[] {
  if (!isJsonObject(document)) throw modelError('invalid_json', { message: 'the providers must be an object' });
  const read = Object.entries(document).map(([name, entry]) =>
    reading(`provider "${name.slice(0, 64)}"`, () => {
      const id = readProviderId(name);
      return readEntry(stored.find((one) => one.id === id) ?? unconfigured(id), entry);
    }),
  );
  const repeated = read.find(({ id }, index) => read.findIndex((one) => one.id === id) !== index);
  if (repeated) throw modelError('invalid_provider_config', { message: `provider "${repeated.id}" is given twice` });
  return read.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Reads an entry as a patch of an empty provider; masks refer to the stored secrets. */
function readEntry(stored: StoredProvider, entry: unknown): StoredProvider {
  if (!isJsonObject(entry)) throw modelError('invalid_json', { message: 'it must be an object' });
  if (optional(entry, 'hidden', 'boolean')) return { ...unconfigured(stored.id), hidden: true };
  const given = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
  const patched = patchProvider({ ...stored, options: {} }, { api_key: '', headers: {}, ...given });
  const { apiKey, headers } = patched;
  const kept = Object.entries(headers).filter(
    ([name, value]) => !isSensitiveName(name) || value === stored.headers[name] || !isCredentialMask(value),
  );
  const isUnknownMask = apiKey !== undefined && apiKey !== stored.apiKey && isCredentialMask(apiKey);
  return { ...patched, apiKey: isUnknownMask ? undefined : apiKey, headers: Object.fromEntries(kept) };
}

/** The active model, unless its provider was removed or hidden. */
function remaining({ providers: before, active }: StoredModels, after: readonly StoredProvider[]) {
  if (!active) return undefined;
  const isConfigured = ({ id, hidden }: StoredProvider): boolean => id === active.providerId && !hidden;
  return before.some(isConfigured) && !after.some(isConfigured) ? undefined : active;
}

function readActive(cache: ModelCache, stored: StoredModels, document: unknown): ModelSlot | undefined {
  if (!isJsonObject(document)) throw modelError('invalid_json', { message: 'the active model must be an object' });
  const [providerId = '', model = ''] = reading('the active model', () => [
    optional(document, 'provider_id', 'string')?.trim().toLowerCase(),
    optional(document, 'model', 'string')?.trim(),
  ]);
  if (providerId === '' && model === '') return undefined;
  if (providerId === '' || model === '') {
    throw modelError('invalid_model_slot', { message: 'provider_id and model must be set together' });
  }
  try {
    return cache.tableOf(stored).checkSlot({ providerId, model });
  } catch (error) {
    // A provider may be disabled while its model is the active one.
    if (isCodedError(error) && error.code === 'provider_disabled') return { providerId, model };
    throw error;
  }
}
