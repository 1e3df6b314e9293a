import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/** What a name that a plugin's facts introduce is used for. */
type Kind = 'plugin' | 'service' | 'schema' | 'point' | 'mount' | 'route' | 'setting';

/** A name of a feature that core may use all the same. */
export interface AllowedName {
  readonly name: string;
  /** The one file that may use it, or a folder when it ends in a slash. */
  readonly in: string;
  readonly reason: string;
}

/**
 * Finds names of features in core: plugin keys, services, database schemas, extension points, mounts, routes and
 * settings that a manifest or a configuration schema of a plugin introduces, as whole strings, beginnings of paths or
 * names of environment variables. Comments do not count.
 * @returns one line per use that no row of `allowed` covers, and one per row that covers nothing
 */
export function checkFeatureNames(root: string, allowed: readonly AllowedName[]): readonly string[] {
  const names = readFeatureNames(root);
  const used = new Set<AllowedName>();
  const found = listSources(root, 'core').flatMap((file) =>
    readTexts(file, readFileSync(join(root, file), 'utf8')).flatMap(({ text, line }) => {
      const match = [...names].find(([name, kind]) => mentions(text, name, kind));
      if (!match) return [];
      const [name, kind] = match;
      const row = allowed.find((one) => one.name === name && (file === one.in || file.startsWith(one.in)));
      if (row) {
        used.add(row);
        return [];
      }
      return [`${file}:${line} names the ${kind} ${name} of a feature`];
    }),
  );
  const idle = allowed
    .filter((row) => !used.has(row))
    .map(({ name, in: at }) => `${at} does not use ${name}: drop its row`);
  return [...found, ...idle];
}

function mentions(text: string, name: string, kind: Kind): boolean {
  if (kind === 'route') return text === name || text.startsWith(`${name}/`) || text.startsWith(`${name}?`);
  if (kind === 'setting') return new RegExp(`\\b${name}\\b`).test(text);
  if (kind === 'schema' && text.includes(`{${name}.`)) return true;
  return text === name;
}

interface Facts {
  readonly key: string;
  readonly provides?: readonly string[];
  readonly opens?: Readonly<Record<string, unknown>>;
  readonly mounts?: readonly { readonly name: string }[];
  readonly permissions?: {
    readonly schemas?: readonly string[];
    readonly routes?: readonly { readonly path: string }[];
  };
}

/** Every name that a plugin of the checkout introduces, without those that the host's own settings share. */
function readFeatureNames(root: string): ReadonlyMap<string, Kind> {
  const names = new Map<string, Kind>();
  const hostSettings = readFileSync(join(root, 'schemas', 'mortise.schema.json'), 'utf8');
  for (const entry of readdirSync(join(root, 'plugins'), { withFileTypes: true })) {
    const folder = join(root, 'plugins', entry.name);
    if (!existsSync(join(folder, 'plugin.json'))) continue;
    const facts = JSON.parse(readFileSync(join(folder, 'plugin.json'), 'utf8')) as Facts;
    const { permissions = {} } = facts;
    for (const { path } of permissions.routes ?? []) names.set(`/${path.split('/')[1]}`, 'route');
    for (const schema of permissions.schemas ?? []) names.set(schema, 'schema');
    for (const service of facts.provides ?? []) names.set(service, 'service');
    for (const point of Object.keys(facts.opens ?? {})) names.set(point, 'point');
    for (const { name } of facts.mounts ?? []) names.set(name, 'mount');
    names.set(facts.key, 'plugin');
    const schemaFile = join(folder, 'config.schema.json');
    if (!existsSync(schemaFile)) continue;
    for (const [, list = ''] of readFileSync(schemaFile, 'utf8').matchAll(/"x-env": (\[[^\]]*\]|"[^"]*")/g)) {
      for (const [, name = ''] of list.matchAll(/"([^"]+)"/g)) {
        if (!hostSettings.includes(`"${name}"`)) names.set(name, 'setting');
      }
    }
  }
  return names;
}

interface Text {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Strings, pieces of templates, and members such as `env.NAME`; specifiers of imports are the layer rule's. */
function readTexts(file: string, source: string): readonly Text[] {
  const found: Text[] = [];
  const skipped = new Set<number>();
  const add = (text: string, start: number) => {
    if (!skipped.has(start)) found.push({ text, line: source.slice(0, start).split('\n').length });
  };
  new Visitor({
    ImportDeclaration: (node) => void skipped.add(node.source.start),
    ExportAllDeclaration: (node) => void skipped.add(node.source.start),
    ExportNamedDeclaration: (node) => void (node.source && skipped.add(node.source.start)),
    ImportExpression: (node) => void skipped.add(node.source.start),
    Literal: (node) => {
      if (typeof node.value === 'string') add(node.value, node.start);
    },
    TemplateElement: (node) => add(node.value.raw, node.start),
    MemberExpression: (node) => {
      if (node.property.type === 'Identifier' && /^[A-Z][A-Z0-9_]+$/.test(node.property.name)) {
        add(node.property.name, node.property.start);
      }
    },
  }).visit(parseSync(file, source).program);
  return found;
}

/** The product's own sources in a folder: tests and the testing kit may name anything. */
function listSources(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['test', 'testing'].includes(entry.name) ? [] : listSources(root, path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}
