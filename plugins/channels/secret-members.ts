import { isCredentialMask, maskCredential, unmaskCredential } from 'mortise/contracts/envs';
import { isJsonObject, isSensitiveName, type JsonObject } from 'mortise/sdk';

/** JSON Schema of a channel's configuration, as the channel declares it. */
type ConfigSchema = Readonly<Record<string, unknown>> | undefined;

/** A value of a configuration that is neither an object nor a list. */
interface Leaf {
  /** Names and list indexes from the root. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** It is, or is inside, a member that has a sensitive name or that the schema marks with `x-secret`. */
  readonly isSecret: boolean;
}

/** A copy of a configuration with each leaf replaced. */
export function mapLeaves(config: JsonObject, schema: ConfigSchema, replace: (leaf: Leaf) => unknown): JsonObject {
  const mapMembers = (object: JsonObject, from: ConfigSchema, above: Omit<Leaf, 'value'>): JsonObject =>
    Object.fromEntries(
      Object.entries(object).map(([name, member]) => {
        const own = schemaOf(from?.properties, name);
        const isSecret = above.isSecret || isSensitiveName(name) || own?.['x-secret'] === true;
        return [name, mapValue(member, own, { path: [...above.path, name], isSecret })];
      }),
    );
  const mapValue = (value: unknown, from: ConfigSchema, at: Omit<Leaf, 'value'>): unknown => {
    if (isJsonObject(value)) return mapMembers(value, from, at);
    if (!Array.isArray(value)) return replace({ ...at, value });
    const items = schemaOf(from, 'items');
    return value.map((item, index) => mapValue(item, items, { ...at, path: [...at.path, `${index}`] }));
  };
  return mapMembers(config, schema, { path: [], isSecret: false });
}

function schemaOf(container: unknown, name: string): ConfigSchema {
  const schema = isJsonObject(container) && Object.hasOwn(container, name) ? container[name] : undefined;
  return isJsonObject(schema) ? schema : undefined;
}

/** The configuration as the API shows it. An empty secret stays empty. */
export function maskSecrets(config: JsonObject, schema: ConfigSchema): JsonObject {
  return mapLeaves(config, schema, ({ value, isSecret }) => {
    if (!isSecret || value === '' || value === null) return value;
    return typeof value === 'string' ? maskCredential(value) : '***';
  });
}

/** The configuration to store: masks that the API showed are replaced by their secrets. */
export function unmaskSecrets(
  given: JsonObject,
  known: JsonObject,
  { schema, otherMasks }: { readonly schema: ConfigSchema; readonly otherMasks: 'keep' | 'empty' },
): JsonObject {
  const secrets = new Map<string, string>();
  mapLeaves(known, schema, ({ path, value, isSecret }) => {
    if (isSecret && typeof value === 'string') secrets.set(pathKey(path), value);
  });
  return mapLeaves(given, schema, ({ path, value, isSecret }) => {
    if (!isSecret || typeof value !== 'string') return value;
    const stored = secrets.get(pathKey(path));
    const secret = unmaskCredential(value, stored);
    return otherMasks === 'empty' && secret !== stored && isCredentialMask(secret) ? '' : secret;
  });
}

/** A path as the key of a map; names may have any characters. */
export function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}
