import type { CallContext, JsonObject, TransactionOption } from 'mortise/sdk';
import type { ModelSlot } from './models.js';

/** The configuration of models, as documents. */
export interface ModelSettings {
  /**
   * By provider id, with the members of `PUT /models/{id}/config`. A provider without an entry has the catalogue's defaults;
   * one with `hidden: true` was deleted.
   */
  readonly providers: Readonly<Record<string, JsonObject>>;
  /** Undefined when no model is active. */
  readonly active: ModelSlot | undefined;
}

/** New documents, as given by a caller. A document that is absent stays as it is. */
export interface ModelDocuments {
  /** Replaces all entries. */
  readonly providers?: unknown;
  /** `{provider_id, model}`; both empty for no active model. */
  readonly active?: unknown;
}

/** The service `model-settings`: the configuration of models as documents that are read, checked and replaced as a whole. */
export interface ModelSettingsService {
  /** Secrets in clear. */
  read(options?: TransactionOption): Promise<ModelSettings>;
  /** The same settings with keys and sensitive headers masked. */
  masked(settings: ModelSettings): ModelSettings;
  /**
   * Returns the settings that would be stored. The mask of a stored secret is replaced by the secret; any other mask counts
   * as absent. The active model is cleared when the entry of its provider is removed.
   *
   * @throws invalid_json, invalid_provider_id, invalid_provider_config, invalid_model_slot, provider_not_found, model_not_found
   */
  check(documents: ModelDocuments, options?: TransactionOption): Promise<ModelSettings>;
  /**
   * Checks and replaces the documents and writes the audit row, in the caller's transaction if there is one.
   * @throws forbidden, and as {@link check}
   */
  replace(documents: ModelDocuments, ctx: CallContext, options?: TransactionOption): Promise<void>;
}

declare module 'mortise/sdk' {
  interface Services {
    'model-settings': ModelSettingsService;
  }
}
