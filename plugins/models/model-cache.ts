import type { ModelSlot } from 'mortise/contracts/models';
import type { Catalogue } from './catalogue.js';
import {
  type Adapters,
  type DefaultLimits,
  ModelTable,
  type ProviderVariables,
  variablePrefix,
} from './model-table.js';
import type { ProviderStore, StoredModels } from './provider-store.js';

interface CacheDeps {
  readonly store: Pick<ProviderStore, 'read'>;
  readonly catalogue: Catalogue;
  /** A new map with every change. */
  readonly adapters: { readonly current: Adapters };
  readonly variables: ProviderVariables;
  readonly configured: ModelSlot | undefined;
  readonly fallbacks: readonly ModelSlot[];
  readonly limits: DefaultLimits;
}

/** The table of models, which every turn uses. It is read from the database only after a change. */
export class ModelCache {
  readonly catalogue: Catalogue;
  readonly #deps: CacheDeps;
  #stored: Promise<StoredModels> | undefined;
  #table: { readonly table: ModelTable; readonly stored: StoredModels; readonly adapters: Adapters } | undefined;

  constructor(deps: CacheDeps) {
    this.#deps = deps;
    this.catalogue = deps.catalogue;
  }

  /** @throws store_error */
  async table(): Promise<ModelTable> {
    this.#stored ??= this.#read();
    return this.#current(await this.#stored);
  }

  /** Whether a provider exists without stored settings. */
  isGiven(id: string): boolean {
    return this.catalogue.has(id) || this.#deps.variables.read(`${variablePrefix(id)}_BASE_URL`) !== undefined;
  }

  /** Reads the stored rows again, with changes of this process that were just committed. */
  reload(): Promise<ModelTable> {
    this.invalidate();
    return this.table();
  }

  /** Drops the rows, which have changed. The next request reads them again. */
  invalidate(): void {
    this.#stored = undefined;
  }

  /** A table of rows that were read within a transaction. */
  tableOf(stored: StoredModels): ModelTable {
    const { adapters, ...rest } = this.#deps;
    return new ModelTable({ ...rest, stored, adapters: adapters.current });
  }

  #current(stored: StoredModels): ModelTable {
    const adapters = this.#deps.adapters.current;
    if (this.#table?.stored !== stored || this.#table.adapters !== adapters) {
      this.#table = { table: this.tableOf(stored), stored, adapters };
    }
    return this.#table.table;
  }

  #read(): Promise<StoredModels> {
    const reading = this.#deps.store.read();
    reading.catch(() => {
      // The next request reads again.
      if (this.#stored === reading) this.#stored = undefined;
    });
    return reading;
  }
}
