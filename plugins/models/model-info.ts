import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { modelError, wrongType } from './errors.js';

/** A model in the form of the API, the catalogue and a provider's `models`. */
export interface ModelInfo {
  readonly id: string;
  readonly name: string;
  readonly status?: string;
  /** The model that this alias refers to. */
  readonly alias_of?: string;
  readonly capabilities?: ModelCapabilities;
  readonly limit?: ModelLimit;
  /** RFC 3339, UTC. */
  readonly created_at?: string;
}

export interface ModelCapabilities {
  readonly temperature?: boolean;
  readonly reasoning?: boolean;
  readonly attachment?: boolean;
  readonly tool_call?: boolean;
  readonly input?: MediaFlags;
  readonly output?: MediaFlags;
}

/** The kinds of content that a model accepts or returns. */
type MediaFlags = Partial<Readonly<Record<(typeof media)[number], boolean>>>;

const media = ['text', 'audio', 'image', 'video', 'pdf'] as const;

/** Tokens. */
export interface ModelLimit {
  readonly context?: number;
  readonly input?: number;
  readonly output?: number;
}

/**
 * The models of a patch or a catalogue. Unknown members are ignored.
 * @throws invalid_json for a member of another type, invalid_provider_config for a model without an id
 */
export function readModelInfos(value: unknown): readonly ModelInfo[] {
  if (!Array.isArray(value)) throw wrongType('models', 'a list');
  const models = value.map((model, index) => readModelInfo(model, `models[${index}]`));
  const ids = models.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) {
    throw modelError('invalid_provider_config', { message: `models contains "${repeated.slice(0, 200)}" twice` });
  }
  return models;
}

function readModelInfo(value: unknown, place: string): ModelInfo {
  if (!isJsonObject(value)) throw wrongType(place, 'an object');
  const id = optional(value, 'id', 'string', place) ?? '';
  if (id.trim() === '' || id.length > 200) {
    throw modelError('invalid_provider_config', { message: 'each model requires an id of at most 200 characters' });
  }
  const status = optional(value, 'status', 'string', place);
  const createdAt = optional(value, 'created_at', 'string', place);
  const capabilities = readCapabilities(value.capabilities, `${place}.capabilities`);
  const limit = readLimit(value.limit, `${place}.limit`);
  return {
    id,
    name: optional(value, 'name', 'string', place) ?? id,
    ...(status === undefined ? {} : { status }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(limit === undefined ? {} : { limit }),
    ...(createdAt === undefined ? {} : { created_at: createdAt }),
  };
}

function readCapabilities(value: unknown, place: string): ModelCapabilities | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw wrongType(place, 'an object');
  const flags = ['temperature', 'reasoning', 'attachment', 'tool_call'] as const;
  const kinds = ['input', 'output'] as const;
  return {
    ...present(flags, (name) => optional(value, name, 'boolean', place)),
    ...present(kinds, (name) => readFlags(value[name], `${place}.${name}`)),
  };
}

function readFlags(value: unknown, place: string): MediaFlags | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw wrongType(place, 'an object');
  return present(media, (name) => optional(value, name, 'boolean', place));
}

function readLimit(value: unknown, place: string): ModelLimit | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw wrongType(place, 'an object');
  return present(['context', 'input', 'output'], (name) => {
    const tokens = optional(value, name, 'number', place);
    if (tokens === undefined || (Number.isInteger(tokens) && tokens > 0)) return tokens;
    throw modelError('invalid_provider_config', { message: `limit.${name} must be a positive number of tokens` });
  });
}

interface JsonTypes {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
}

/**
 * A member of a type; absent when it is missing or null.
 * @param place of the object in the body
 * @throws invalid_json
 */
export function optional<T extends keyof JsonTypes>(
  object: JsonObject,
  name: string,
  type: T,
  place?: string,
): JsonTypes[T] | undefined {
  const value = object[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== type) throw wrongType(place === undefined ? name : `${place}.${name}`, `a ${type}`);
  return value as JsonTypes[T];
}

/** An object of the members that have a value. */
function present<N extends string, V>(
  names: readonly N[],
  read: (name: N) => V | undefined,
): Partial<Readonly<Record<N, V>>> {
  const members = names.map((name) => [name, read(name)] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as Partial<Record<N, V>>;
}
