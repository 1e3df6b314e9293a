import { isDeepStrictEqual } from 'node:util';
import { type AuditService, changeEntry } from 'mortise/contracts/logbook';
import type { ModelSlot } from 'mortise/contracts/models';
import {
  type AuditEntry,
  type CallContext,
  type Database,
  isCodedError,
  type Logger,
  type SecretsService,
  type Transaction,
} from 'mortise/sdk';
import { storing } from './errors.js';
import type { ProviderOptions, StoredProvider } from './provider-patch.js';

/** The stored data of models. */
export interface StoredModels {
  readonly providers: readonly StoredProvider[];
  readonly active: ModelSlot | undefined;
}

interface StoreDeps {
  readonly database: Database;
  readonly secrets: SecretsService;
  readonly audit: AuditService;
  readonly log: Logger;
}

interface ProviderRow {
  readonly id: string;
  readonly settings_json: unknown;
  readonly api_key_enc: string | null;
  readonly headers_enc: string | null;
  readonly hidden: unknown;
}

const activeKey = 'active_llm';
/** A row that every change writes first, which serialises changes across replicas. */
const revisionKey = 'models_revision';

/** Notified with every change. */
export const changesChannel = 'models';

/** The rows of providers and of the active model. */
export class ProviderStore {
  readonly #deps: StoreDeps;

  constructor(deps: StoreDeps) {
    this.#deps = deps;
  }

  /** @throws store_error */
  read(outer?: Transaction): Promise<StoredModels> {
    if (outer) return storing(() => this.#read(outer));
    return storing(() => this.#deps.database.transaction((trx) => this.#read(trx), { readOnlySnapshot: true }));
  }

  /**
   * Changes the stored data and writes the audit row of the change, in one transaction.
   * @param change returns what to store for a provider (a null removes its row) and the active model
   */
  change(ctx: CallContext, change: (stored: StoredModels) => ModelChange): Promise<void> {
    const { database } = this.#deps;
    return this.#write(ctx, async (stored, trx) => {
      const { provider, remove, active, entry } = change(stored);
      if (remove !== undefined)
        await database.query({ trx })(database.table('agent.providers')).where({ id: remove }).delete();
      if (provider) await this.#saveProvider(provider, trx);
      if (active !== undefined) await this.#setActive(active ?? undefined, trx);
      return entry;
    });
  }

  /** Replaces all stored data, as {@link change}, in the caller's transaction if there is one. */
  replace(
    ctx: CallContext,
    replace: (stored: StoredModels) => StoredModels & Pick<ModelChange, 'entry'>,
    outer?: Transaction,
  ): Promise<void> {
    const { database } = this.#deps;
    const write = async (stored: StoredModels, trx: Transaction): Promise<ModelChange['entry']> => {
      const { providers, active, entry } = replace(stored);
      const ids = providers.map(({ id }) => id);
      await database.query({ trx })(database.table('agent.providers')).whereNotIn('id', ids).delete();
      for (const provider of providers) {
        // An unchanged row is not written again, because its key may currently be undecryptable.
        const before = stored.providers.find(({ id }) => id === provider.id);
        if (!isDeepStrictEqual(provider, before)) await this.#saveProvider(provider, trx);
      }
      await this.#setActive(active, trx);
      return entry;
    };
    return this.#write(ctx, write, outer);
  }

  #write(
    ctx: CallContext,
    write: (stored: StoredModels, trx: Transaction) => Promise<ModelChange['entry']>,
    outer?: Transaction,
  ): Promise<void> {
    const { database, audit } = this.#deps;
    const run = async (trx: Transaction): Promise<void> => {
      await this.#setValue(revisionKey, { changed_at: new Date().toISOString() }, trx);
      const entry = await write(await this.#read(trx), trx);
      await audit.write(changeEntry(entry.operation, ctx, entry), { trx });
      await database.notify(changesChannel, entry.operation, { trx });
    };
    return storing(() => (outer ? run(outer) : database.transaction(run)));
  }

  async #setActive(active: ModelSlot | undefined, trx: Transaction): Promise<void> {
    const { database } = this.#deps;
    if (active) return this.#setValue(activeKey, { provider_id: active.providerId, model: active.model }, trx);
    await database.query({ trx })(database.table('agent.settings')).where({ key: activeKey }).delete();
  }

  async #read(trx: Transaction): Promise<StoredModels> {
    const { database } = this.#deps;
    const rows: ProviderRow[] = await database
      .query({ trx })(database.table('agent.providers'))
      .select('id', 'settings_json', 'api_key_enc', 'headers_enc', 'hidden')
      .orderBy('id');
    const setting: { value_json: unknown } | undefined = await database
      .query({ trx })(database.table('agent.settings'))
      .where({ key: activeKey })
      .first('value_json');
    const slot = setting && database.codec.parseJson<{ provider_id: string; model: string }>(setting.value_json);
    return {
      providers: rows.map((row) => this.#toProvider(row)),
      active: slot && { providerId: slot.provider_id, model: slot.model },
    };
  }

  #toProvider({ id, settings_json, api_key_enc, headers_enc, hidden }: ProviderRow): StoredProvider {
    const { codec } = this.#deps.database;
    return {
      id,
      options: codec.parseJson<ProviderOptions>(settings_json),
      apiKey: this.#unseal(api_key_enc, keyPlace(id)),
      headers: headers_enc === null ? {} : this.#unsealHeaders(id, headers_enc),
      hidden: codec.parseFlag(hidden),
    };
  }

  #unsealHeaders(id: string, stored: string): Readonly<Record<string, string>> {
    const sealed = Object.entries(JSON.parse(stored) as Record<string, string>);
    const clear = sealed.map(([name, value]) => [name, this.#unseal(value, headerPlace(id, name))] as const);
    return Object.fromEntries(clear.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  /** Seals each value separately, so that the platform registers it as a secret. */
  #sealHeaders(id: string, headers: StoredProvider['headers']): string {
    const sealed = Object.entries(headers).map(([name, value]) => [
      name,
      this.#deps.secrets.seal(value, headerPlace(id, name)),
    ]);
    return JSON.stringify(Object.fromEntries(sealed));
  }

  /** A secret that cannot be decrypted counts as unset, so that the other providers keep working. */
  #unseal(stored: string | null, place: string): string | undefined {
    if (stored === null) return undefined;
    try {
      return this.#deps.secrets.unseal(stored, place);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      this.#deps.log.error({ code: error.code, place }, error.message);
      return undefined;
    }
  }

  async #saveProvider({ id, options, apiKey, headers, hidden }: StoredProvider, trx: Transaction): Promise<void> {
    const { database, secrets } = this.#deps;
    const hasHeaders = Object.keys(headers).length > 0;
    const row = {
      settings_json: database.codec.json(options),
      api_key_enc: apiKey === undefined ? null : secrets.seal(apiKey, keyPlace(id)),
      headers_enc: hasHeaders ? this.#sealHeaders(id, headers) : null,
      hidden,
      updated_at: database.codec.time(Date.now()),
    };
    await database
      .query({ trx })(database.table('agent.providers'))
      .insert({ id, ...row })
      .onConflict('id')
      .merge(row);
  }

  async #setValue(key: string, value: object, trx: Transaction): Promise<void> {
    const { database } = this.#deps;
    const row = { value_json: database.codec.json(value), updated_at: database.codec.time(Date.now()) };
    await database
      .query({ trx })(database.table('agent.settings'))
      .insert({ key, ...row })
      .onConflict('key')
      .merge(row);
  }
}

/** One change of the stored data. */
interface ModelChange {
  readonly provider?: StoredProvider | undefined;
  /** Id of the provider whose row is removed. */
  readonly remove?: string | undefined;
  /** Null clears the active model. */
  readonly active?: ModelSlot | null | undefined;
  readonly entry: Pick<AuditEntry, 'targetSpace' | 'evidence'> & { readonly operation: `models:${string}` };
}

const keyPlace = (id: string): string => `provider key ${id}`;
const headerPlace = (id: string, name: string): string => `provider header ${id} ${name}`;
