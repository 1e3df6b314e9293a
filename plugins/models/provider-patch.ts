import { maskCredential, unmaskCredential } from 'mortise/contracts/envs';
import { isJsonObject, isSensitiveName, type JsonObject, type ReasoningEffort } from 'mortise/sdk';
import { modelError, wrongType } from './errors.js';
import { type ModelInfo, optional, readModelInfos } from './model-info.js';

/** The settings of a provider; absent ones have defaults. Key and headers are stored separately. */
export interface ProviderOptions {
  readonly base_url?: string;
  readonly display_name?: string;
  readonly reasoning_effort?: ReasoningEffort;
  readonly enabled?: boolean;
  readonly store?: boolean;
  /** Milliseconds; 0 = no limit. */
  readonly timeout_ms?: number;
  readonly model_aliases?: Readonly<Record<string, string>>;
  readonly adapter?: string;
  readonly models?: readonly ModelInfo[];
  readonly allow_unknown_models?: boolean;
  readonly max_retries?: number;
  readonly attachments?: boolean;
}

/** A provider as it is stored, secrets in clear. */
export interface StoredProvider {
  readonly id: string;
  readonly options: ProviderOptions;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** A provider of the catalogue that was deleted. */
  readonly hidden: boolean;
}

const idForm = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** `demo` is the built-in provider, which cannot be configured. */
export function isProviderId(id: string): boolean {
  return idForm.test(id) && id !== 'demo';
}

/** A provider without stored settings. */
export function unconfigured(id: string): StoredProvider {
  return { id, options: {}, apiKey: undefined, headers: {}, hidden: false };
}

/** The id of a provider in a path. @throws invalid_provider_id */
export function readProviderId(text: string): string {
  const id = text.trim().toLowerCase();
  if (!isProviderId(id)) throw modelError('invalid_provider_id');
  return id;
}

const efforts: readonly string[] = ['minimal', 'low', 'medium', 'high'];
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\x20-\x7e]*$/;
const keyCharacters = /^[\x21-\x7e]+$/;
const adapterForm = /^[a-z0-9]+([._-][a-z0-9]+)*$/;
const maxRetries = 10;
const maxTimeoutMs = 86_400_000;

/**
 * Applies a patch to a stored provider: members that are absent or null stay as they are, an empty text removes one, maps
 * and lists are replaced. A secret that is given as its mask stays as it is.
 *
 * @throws invalid_json for a wrong type, invalid_provider_config for a wrong value
 */
export function patchProvider(stored: StoredProvider, body: unknown): StoredProvider {
  if (!isJsonObject(body)) throw modelError('invalid_json');
  const { options } = stored;
  const changed: Record<keyof ProviderOptions, unknown> = {
    base_url: textOption(body, 'base_url', readBaseUrl),
    display_name: textOption(body, 'display_name', readName),
    reasoning_effort: textOption(body, 'reasoning_effort', readEffort),
    enabled: optional(body, 'enabled', 'boolean'),
    store: optional(body, 'store', 'boolean'),
    timeout_ms: numberOption(body, 'timeout_ms', maxTimeoutMs),
    model_aliases: readAliases(body.model_aliases),
    adapter: textOption(body, 'adapter', readAdapter),
    models: body.models === undefined || body.models === null ? undefined : readModelInfos(body.models),
    allow_unknown_models: optional(body, 'allow_unknown_models', 'boolean'),
    max_retries: numberOption(body, 'max_retries', maxRetries),
    attachments: optional(body, 'attachments', 'boolean'),
  };
  const given = Object.entries(changed).filter(([, value]) => value !== undefined);
  const merged = { ...options, ...Object.fromEntries(given) };
  return {
    id: stored.id,
    options: Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)) as ProviderOptions,
    apiKey: readKey(optional(body, 'api_key', 'string'), stored.apiKey),
    headers: readHeaders(body.headers, stored.headers),
    hidden: false,
  };
}

/** Headers with sensitive values masked. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSensitiveName(name) ? maskCredential(value) : value]),
  );
}

function invalid(message: string): Error {
  return modelError('invalid_provider_config', { message });
}

/** Null for an empty text, which removes the option. */
function textOption<T>(body: JsonObject, name: string, read: (text: string) => T): T | null | undefined {
  const text = optional(body, name, 'string')?.trim();
  return text === '' ? null : text === undefined ? undefined : read(text);
}

function numberOption(body: JsonObject, name: string, max: number): number | undefined {
  const value = optional(body, name, 'number');
  if (value === undefined) return undefined;
  if (value < 0) throw invalid(`${name} must be >= 0`);
  if (!Number.isInteger(value) || value > max) throw invalid(`${name} must be an integer of at most ${max}`);
  return value;
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (!isUsable || url.search !== '' || url.hash !== '' || text.length > 2_000) {
    throw invalid('base_url must be an http or https address without credentials, query and fragment');
  }
  return text.replace(/\/+$/, '');
}

function readName(text: string): string {
  if (text.length > 120) throw invalid('display_name must have at most 120 characters');
  return text;
}

function readEffort(text: string): string {
  const effort = text.toLowerCase();
  if (!efforts.includes(effort)) throw invalid('reasoning_effort must be one of: minimal, low, medium, high');
  return effort;
}

function readAdapter(text: string): string {
  const adapter = text.toLowerCase();
  if (!adapterForm.test(adapter) || adapter.length > 64) throw invalid('adapter must be the name of an adapter');
  return adapter;
}

function readAliases(value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined;
  const aliases = readTexts(value, 'model_aliases').map(([alias, model]) => [alias.trim(), model.trim()] as const);
  if (aliases.some(([alias, model]) => alias === '' || model === '')) {
    throw invalid('model_aliases requires non-empty key and value');
  }
  const names = new Set(aliases.map(([alias]) => alias));
  const chained = aliases.find(([alias, model]) => alias !== model && names.has(model));
  if (chained) throw invalid(`model_aliases must name models: "${chained[1]}" is an alias too`);
  return Object.fromEntries(aliases);
}

function readKey(given: string | undefined, stored: string | undefined): string | undefined {
  if (given === undefined) return stored;
  const key = unmaskCredential(given.trim(), stored);
  if (key === '') return undefined;
  if (!keyCharacters.test(key) || key.length > 4_096)
    throw invalid('api_key has characters that are not allowed in a header');
  return key;
}

function readHeaders(value: unknown, stored: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return stored;
  const masked = maskedHeaders(stored);
  return Object.fromEntries(
    readTexts(value, 'headers').map(([name, text]) => {
      if (!headerName.test(name) || !headerValue.test(text)) throw invalid('headers requires valid names and values');
      return [name, masked[name] === text ? (stored[name] ?? text) : text];
    }),
  );
}

function readTexts(value: unknown, member: string): readonly (readonly [string, string])[] {
  if (!isJsonObject(value)) throw wrongType(member, 'an object');
  return Object.entries(value).map(([name, text]) => {
    if (typeof text !== 'string') throw wrongType(`${member}.${name.slice(0, 200)}`, 'a string');
    return [name, text] as const;
  });
}
