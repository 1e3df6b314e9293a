import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/** The kinds of names that a plugin introduces. */
type Kind = 'plugin' | 'service' | 'schema' | 'point' | 'mount' | 'route' | 'setting' | 'envelope';

/** A feature name that core may use. */
export interface AllowedName {
  readonly name: string;
  /** The one file that may use it, or a folder when it ends in a slash. */
  readonly in: string;
  readonly reason: string;
}

/**
 * Finds names of features in core: plugin keys, services, database schemas, extension points, mounts, routes and
 * settings that a manifest or a configuration schema of a plugin introduces, in strings and as names of members,
 * properties and destructured variables. Comments do not count.
 * @returns one line per use that no row of `allowed` covers, and one per unused row of an installed feature
 */
export function checkFeatureNames(root: string, allowed: readonly AllowedName[]): readonly string[] {
  const names = readFeatureNames(root);
  const used = new Set<AllowedName>();
  const found = listSources(root, 'core').flatMap((file) =>
    readMentions(file, readFileSync(join(root, file), 'utf8')).flatMap((mention) => {
      const match = [...names].find(([name, kind]) => mentions(mention, name, kind));
      if (!match) return [];
      const [name, kind] = match;
      const row = allowed.find((one) => one.name === name && (file === one.in || file.startsWith(one.in)));
      if (row) {
        used.add(row);
        return [];
      }
      return [`${file}:${mention.line} names the ${kind} ${name} of a feature`];
    }),
  );
  const idle = allowed
    .filter((row) => names.has(row.name) && !used.has(row))
    .map(({ name, in: at }) => `${at} does not use ${name}: remove its row`);
  return [...found, ...idle];
}

/** A piece of source that may name a feature. */
interface Mention {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
  /** A string or a piece of a template; else the name of a member, a property or a destructured variable. */
  readonly isString: boolean;
}

function mentions({ text, isString }: Mention, name: string, kind: Kind): boolean {
  if (!isString) return kind !== 'route' && kind !== 'mount' && text === asMember(name, kind);
  switch (kind) {
    case 'route':
      return new RegExp(`(^|\\s|\\w://[^/\\s]+)${name}([/?\\s]|$)`).test(text);
    case 'setting':
      return hasWord(text, name);
    case 'schema':
      return (
        text === name ||
        text.includes(`{${name}.`) ||
        new RegExp(`\\b(from|join|into|update|table) ${name}_`).test(text)
      );
    case 'plugin':
      // A one-word key is also an ordinary word, so only the whole text, a file or folder of that name, or the word next to
      // "plugin" counts.
      return (
        text === name || (name.includes('-') ? hasWord(text, name) : hasPathOf(text, name) || isPlugin(text, name))
      );
    default:
      return text === name;
  }
}

function hasWord(text: string, name: string): boolean {
  return new RegExp(`(^|[^\\w-])${name}($|[^\\w-])`).test(text);
}

function hasPathOf(text: string, name: string): boolean {
  return new RegExp(`(^|/)(plugins|config|contracts)/${name}([./]|$)`).test(text);
}

function isPlugin(text: string, name: string): boolean {
  return new RegExp(`\\bplugin "?${name}\\b|\\b${name}"? plugin\\b`).test(text);
}

/** The spelling of a name as a member: `memoryGateway`; settings keep theirs. */
function asMember(name: string, kind: Kind): string {
  return kind === 'setting' ? name : name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
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

interface ConfigSchema {
  readonly properties?: Readonly<Record<string, ConfigSchema>>;
}

/** Names of a configuration's properties, with those of objects within it. */
function settingsOf({ properties = {} }: ConfigSchema): readonly string[] {
  return Object.entries(properties).flatMap(([name, property]) => [name, ...settingsOf(property)]);
}

/** Every name that a plugin of the checkout introduces, except names of host settings. */
function readFeatureNames(root: string): ReadonlyMap<string, Kind> {
  const names = new Map<string, Kind>([['error envelope', 'envelope']]);
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
    const schema = readFileSync(schemaFile, 'utf8');
    for (const name of settingsOf(JSON.parse(schema) as ConfigSchema)) {
      // A single word is ambiguous.
      if (/_|[a-z][A-Z]/.test(name) && !hostSettings.includes(`"${name}"`)) names.set(name, 'setting');
    }
    for (const [, list = ''] of schema.matchAll(/"x-env": (\[[^\]]*\]|"[^"]*")/g)) {
      for (const [, name = ''] of list.matchAll(/"([^"]+)"/g)) {
        if (!hostSettings.includes(`"${name}"`)) names.set(name, 'setting');
      }
    }
  }
  return names;
}

/**
 * Strings, pieces of templates, members, properties and destructured variables; the layer rule covers import
 * specifiers. An object such as `{ type: 'error', error: { … } }`, or one with `jsonrpc`, is the error envelope of an API.
 */
function readMentions(file: string, source: string): readonly Mention[] {
  const found: Mention[] = [];
  const skipped = new Set<number>();
  const add = (text: string, start: number, isString: boolean) => {
    if (!skipped.has(start)) found.push({ text, line: source.slice(0, start).split('\n').length, isString });
  };
  new Visitor({
    ImportDeclaration: (node) => void skipped.add(node.source.start),
    ExportAllDeclaration: (node) => void skipped.add(node.source.start),
    ExportNamedDeclaration: (node) => void (node.source && skipped.add(node.source.start)),
    ImportExpression: (node) => void skipped.add(node.source.start),
    Literal: (node) => {
      if (typeof node.value === 'string') add(node.value, node.start, true);
    },
    TemplateElement: (node) => add(node.value.raw, node.start, true),
    MemberExpression: (node) => {
      if (node.property.type === 'Identifier') add(node.property.name, node.property.start, false);
    },
    Property: (node) => {
      if (node.key.type === 'Identifier' && !node.computed) add(node.key.name, node.key.start, false);
    },
    PropertyDefinition: (node) => {
      if (node.key.type === 'Identifier' && !node.computed) add(node.key.name, node.key.start, false);
    },
    TSPropertySignature: (node) => {
      if (node.key.type === 'Identifier' && !node.computed) add(node.key.name, node.key.start, false);
    },
    ObjectExpression: (node) => {
      const members = new Map(
        node.properties.flatMap((one) =>
          one.type === 'Property' && one.key.type === 'Identifier' ? [[one.key.name, one.value] as const] : [],
        ),
      );
      const type = members.get('type');
      const isClaude =
        type?.type === 'Literal' && type.value === 'error' && members.get('error')?.type === 'ObjectExpression';
      if (isClaude || members.has('jsonrpc')) add('error envelope', node.start, true);
    },
  }).visit(parseSync(file, source).program);
  return found;
}

/** Product sources in a folder: tests and the testing kit may name features. */
function listSources(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['test', 'testing'].includes(entry.name) ? [] : listSources(root, path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}
