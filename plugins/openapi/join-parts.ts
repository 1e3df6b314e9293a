import type { EnvelopeTemplate, JsonObject, ManifestMount, ManifestRoute, PluginManifest } from 'mortise/sdk';
import { parse } from 'yaml';

/** Part of a description: `paths` and `components.schemas` of one plugin, or the common base. */
interface Part {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
  readonly components?: Readonly<Record<string, JsonObject>>;
  readonly [member: string]: unknown;
}

export interface PluginPart {
  readonly manifest: PluginManifest;
  readonly part: Part;
}

/**
 * Parses `openapi.yaml` of a plugin; an empty text is an empty part.
 * @throws Error when the text is not YAML, or not a mapping.
 */
export function partOf(text: string): Part {
  const value: unknown = parse(text) ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error('it is not a mapping');
  return value as Part;
}

/**
 * Joins the parts of plugins with the base. The manifests define the operations with their path parameters, security and
 * error bodies; the parts add summaries, parameters, bodies and responses. Schemas of a part are named `<key>.<name>`.
 *
 * @param version of the product
 */
export function joinParts(base: Part, plugins: readonly PluginPart[], version: string): JsonObject {
  const sorted = [...plugins].sort((a, b) => (a.manifest.key < b.manifest.key ? -1 : 1));
  const paths = new Map<string, Record<string, unknown>>(Object.entries(base.paths ?? {}));
  const schemas: Record<string, unknown> = { ...base.components?.schemas };
  const responses: Record<string, unknown> = { ...base.components?.responses };
  for (const { manifest, part } of sorted) {
    const own = qualified(part, manifest.key);
    for (const [name, schema] of Object.entries(own.components?.schemas ?? {}))
      schemas[`${manifest.key}.${name}`] = schema;
    for (const route of manifest.permissions?.routes ?? []) {
      const template = pathTemplate(route.path);
      const mount = findMount(route, manifest, sorted);
      if (mount) responses[mount.name] ??= errorResponse(mount.value);
      const item = paths.get(template) ?? pathItem(template, own.paths?.[template]?.parameters);
      for (const method of methodsOf(route)) {
        const described = own.paths?.[template]?.[method.toLowerCase()] ?? {};
        item[method.toLowerCase()] = operation(described, route, manifest.key, mount?.name ?? 'Error', method);
      }
      paths.set(template, item);
    }
  }
  return {
    ...(base as JsonObject),
    info: { ...(base.info as JsonObject), version },
    tags: [
      ...((base.tags as unknown[] | undefined) ?? []),
      ...sorted
        .filter(({ manifest }) => (manifest.permissions?.routes ?? []).length > 0)
        .map(({ manifest }) => ({ name: manifest.key, description: manifest.summary })),
    ],
    paths: inOrder(Object.fromEntries(paths)),
    components: { ...base.components, responses: inOrder(responses), schemas: inOrder(schemas) },
  };
}

/** `/skills/:name/*file_path` as `/skills/{name}/{file_path}`. */
export function pathTemplate(path: string): string {
  return path.replaceAll(/[:*](\w+)/g, '{$1}');
}

/** Upgrades and static files are GET requests. */
export function methodsOf({ kind, method }: ManifestRoute): readonly string[] {
  return kind === 'http' ? [method ?? 'GET'].flat() : ['GET'];
}

function pathItem(template: string, described: unknown | undefined): Record<string, unknown> {
  const given = (Array.isArray(described) ? described : []) as readonly JsonObject[];
  const parameters = [...template.matchAll(/\{(\w+)\}/g)].map(
    ([, name = '']) =>
      given.find((one) => one.name === name && one.in === 'path') ?? {
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      },
  );
  return parameters.length > 0 ? { parameters } : {};
}

function operation(
  described: JsonObject,
  route: ManifestRoute,
  key: string,
  error: string,
  method: string,
): JsonObject {
  const id = `${key}.${route.name}`;
  const { summary = route.name, responses = {}, ...rest } = described;
  return {
    operationId: Array.isArray(route.method) ? `${id}.${method.toLowerCase()}` : id,
    tags: [key],
    summary,
    security: security[route.auth],
    ...rest,
    responses: { ...(responses as JsonObject), default: { $ref: `#/components/responses/${error}` } },
  };
}

/** By right of a route; each entry suffices. A key that is bound to an admin needs no admin key. */
const security: Readonly<Record<ManifestRoute['auth'], readonly JsonObject[]>> = {
  public: [],
  key: [{ apiKey: [] }, { bearer: [] }],
  admin: [{ apiKey: [], adminKey: [] }, { bearer: [], adminKey: [] }, { apiKey: [] }, { bearer: [] }, { adminKey: [] }],
};

/** The mount of a route; undefined when its errors have the platform's default form. */
function findMount(
  { mount: name }: ManifestRoute,
  { key, requires = [], optional = [] }: PluginManifest,
  plugins: readonly PluginPart[],
): { readonly name: string; readonly value: ManifestMount } | undefined {
  if (name === undefined) return undefined;
  for (const owner of [key, ...requires, ...optional]) {
    const value = plugins
      .find(({ manifest }) => manifest.key === owner)
      ?.manifest.mounts?.find((one) => one.name === name);
    if (value) return value.envelope === undefined ? undefined : { name: `${owner}.${name}`, value };
  }
  return undefined;
}

function errorResponse({ envelope, parseEnvelope, unavailableEnvelope }: ManifestMount): JsonObject {
  const forms = [envelope, parseEnvelope, unavailableEnvelope].flatMap((one) =>
    one === undefined ? [] : schemaOf(one),
  );
  const schema = forms.length === 1 && forms[0] ? forms[0] : { anyOf: forms };
  return { description: 'The request failed.', content: { 'application/json': { schema } } };
}

/** The fields that every error has; others are omitted from the body when absent. */
const alwaysPresent = new Set(['code', 'message', 'reason', 'status', 'retryable', 'correlation_id', 'request_id']);
const fieldSchemas: Readonly<Record<string, JsonObject>> = {
  details: { type: 'object' },
  status: { type: 'integer' },
  retryable: { type: 'boolean' },
};

/** The schema of the bodies that a template produces. */
function schemaOf(template: EnvelopeTemplate): JsonObject {
  if (typeof template === 'string') {
    const field = fieldOf(template);
    return field === undefined ? { const: template } : (fieldSchemas[field] ?? { type: 'string' });
  }
  if (typeof template !== 'object' || template === null) return { const: template };
  if (Array.isArray(template)) return { type: 'array' };
  if ('$from' in template) return {};
  const members = Object.entries(template as Readonly<Record<string, EnvelopeTemplate>>);
  const properties = Object.fromEntries(members.map(([name, value]) => [name, schemaOf(value)]));
  const required = members.filter(([, value]) => isAlwaysPresent(value)).map(([name]) => name);
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties };
}

function isAlwaysPresent(template: EnvelopeTemplate): boolean {
  if (typeof template === 'object' && template !== null && '$from' in template) return false;
  const field = typeof template === 'string' ? fieldOf(template) : undefined;
  return field === undefined || alwaysPresent.has(field);
}

function fieldOf(template: string): string | undefined {
  return /^\{(\w+)\}$/.exec(template)?.[1];
}

/** Prefixes the schemas of a part, and its references to them, with the key of the plugin. */
function qualified(part: Part, key: string): Part {
  return JSON.parse(JSON.stringify(part), (name, value: unknown) =>
    name === '$ref' && typeof value === 'string'
      ? value.replace(/^#\/components\/schemas\/(?=\w+$)/, `#/components/schemas/${key}.`)
      : value,
  ) as Part;
}

function inOrder(members: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}
