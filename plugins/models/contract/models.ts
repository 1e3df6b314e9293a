import type { ModelFacts, ProviderFacts, ProviderSettings } from 'mortise/sdk';

/** A model by the names that users and settings use. */
export interface ModelSlot {
  readonly providerId: string;
  readonly model: string;
}

/** A model, the adapter that calls it and the account it is called with. */
export interface ResolvedModel extends ModelSlot {
  /** Key of the `provider` contribution. */
  readonly adapter: string;
  readonly capabilities: ProviderFacts['capabilities'];
  readonly settings: ProviderSettings;
  /** Context and output size in tokens, as far as they are known. */
  readonly limits: Pick<ModelFacts, 'context' | 'output'>;
}

/** A model as clients of a model API see it. */
export interface OfferedModel {
  /** `<provider>/<model>`, or an alias. */
  readonly id: string;
  readonly displayName: string;
  readonly providerId: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
}

/** The rules for model names without a provider: Claude's or OpenAI's. */
export type ModelNaming = 'anthropic' | 'openai';

/** The service `models`: lists the models, and chooses the model of a request. */
export interface ModelsService {
  /**
   * The model of a turn: the chat's own slot, else the active model, else the configured one, else the demo.
   *
   * @param configured the caller's own setting; the setting of this plugin when absent
   * @throws provider_not_found, provider_disabled, model_not_found, provider_not_supported
   */
  resolve(own: ModelSlot | undefined, configured?: ModelSlot): Promise<ResolvedModel>;
  /**
   * The models to try when the resolved one has failed before its first output, in order; configured by the administrator.
   */
  fallbacks(resolved: ModelSlot): Promise<readonly ResolvedModel[]>;
  /**
   * The model that a stateless request names: `<provider>/<model>`, an exact id or alias, or a name that the naming's rules
   * assign to a provider. Undefined when no model has the name.
   */
  route(name: string, naming: ModelNaming): Promise<ResolvedModel | undefined>;
  /** The models of enabled providers that have a key, and the demo's, in the catalogue's order. */
  list(): Promise<readonly OfferedModel[]>;
}

declare module 'mortise/sdk' {
  interface Services {
    models: ModelsService;
  }
}
