import { readFile } from 'node:fs/promises';
import { isCodedError, isJsonObject, MortiseError } from 'mortise/sdk';
import { type ModelInfo, optional, readModelInfos } from './model-info.js';

/** The data of a provider without any configuration. */
export interface CatalogueProvider {
  readonly displayName?: string;
  readonly adapter?: string;
  readonly baseUrl?: string;
  readonly defaultModel?: string;
  readonly allowUnknownModels?: boolean;
  readonly models: readonly ModelInfo[];
}

/** Known providers by id. */
export type Catalogue = ReadonlyMap<string, CatalogueProvider>;

/**
 * Reads the shipped catalogue and the file that extends it.
 * @throws MortiseError `invalid_catalogue`
 */
export async function readCatalogue(shipped: string, extension: string | undefined): Promise<Catalogue> {
  const own = await readFileAs(shipped);
  return extension === undefined ? own : extendCatalogue(own, await readFileAs(extension));
}

/** Members of the second catalogue override those of the first; models are merged by id. */
function extendCatalogue(base: Catalogue, extension: Catalogue): Catalogue {
  const merged = new Map(base);
  for (const [id, provider] of extension) {
    const known = merged.get(id);
    merged.set(id, { ...known, ...provider, models: mergeModels(known?.models ?? [], provider.models) });
  }
  return merged;
}

/** The models of both lists, by id; those of the second override. */
export function mergeModels(base: readonly ModelInfo[], extension: readonly ModelInfo[]): readonly ModelInfo[] {
  return [...new Map([...base, ...extension].map((model) => [model.id, model])).values()];
}

async function readFileAs(path: string): Promise<Catalogue> {
  try {
    return parseCatalogue(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const reason = isCodedError(error) || error instanceof Error ? error.message : 'it is not JSON';
    throw new MortiseError('invalid_catalogue', `The model catalogue ${path} cannot be used: ${reason}.`, {
      hint: 'Correct the file, or unset MORTISE_MODEL_CATALOG.',
      cause: error,
    });
  }
}

/** Reads `{"providers": {<id>: {display_name?, adapter?, base_url?, default_model?, allow_unknown_models?, models?}}}`. */
function parseCatalogue(value: unknown): Catalogue {
  const providers = isJsonObject(value) ? value.providers : undefined;
  if (!isJsonObject(providers)) throw new Error('it has no object "providers"');
  return new Map(
    Object.entries(providers).map(([id, provider]) => {
      if (!isJsonObject(provider)) throw new Error(`the provider "${id}" is not an object`);
      const members = {
        displayName: optional(provider, 'display_name', 'string'),
        adapter: optional(provider, 'adapter', 'string'),
        baseUrl: optional(provider, 'base_url', 'string')?.replace(/\/+$/, ''),
        defaultModel: optional(provider, 'default_model', 'string'),
        allowUnknownModels: optional(provider, 'allow_unknown_models', 'boolean'),
      };
      const given = Object.entries(members).filter(([, member]) => member !== undefined);
      return [id.toLowerCase(), { ...Object.fromEntries(given), models: readModelInfos(provider.models ?? []) }];
    }),
  );
}
