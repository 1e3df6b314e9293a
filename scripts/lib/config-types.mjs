import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from 'json-schema-to-typescript';

/** @typedef {import('json-schema-to-typescript').JSONSchema} Schema */

const schemaFile = 'config.schema.json';
const typesFile = 'config.generated.ts';

/**
 * The types of every plugin's configuration; paths are relative to the checkout. A plugin whose contract exposes its
 * configuration has the file in `contract/`.
 * @param {string} checkout
 */
export async function configTypes(checkout) {
  const files = [];
  for (const key of readdirSync(join(checkout, 'plugins')).sort()) {
    const text = readIfPresent(join(checkout, 'plugins', key, schemaFile));
    if (text === undefined) continue;
    const inContract = join('plugins', key, 'contract', typesFile);
    const path = existsSync(join(checkout, inContract)) ? inContract : join('plugins', key, typesFile);
    files.push({ path, text: await typesOf(JSON.parse(text)) });
  }
  return files;
}

/**
 * TypeScript of one schema: `export interface Config`, read-only, as the host passes it (defaults filled in).
 * @param {Schema} schema
 */
export async function typesOf(schema) {
  const text = await compile({ ...effective(schema), title: undefined }, 'Config', {
    bannerComment: `/** Generated from ${schemaFile} by \`npm run generate\`. Do not edit. */`,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    unknownAny: true,
    style: { singleQuote: true, printWidth: 120 },
  });
  return readOnly(text);
}

/**
 * Marks the members that the host fills in as required: those with a default, and objects of such members.
 * @param {Schema} schema
 * @returns {Schema}
 */
function effective(schema) {
  const copy = { ...schema };
  // Array bounds are not part of the type, and a default would be repeated in a comment.
  for (const name of /** @type {const} */ (['minItems', 'maxItems', 'default', 'examples'])) delete copy[name];
  if (schema.items && !Array.isArray(schema.items)) copy.items = effective(schema.items);
  if (typeof schema.additionalProperties === 'object')
    copy.additionalProperties = effective(schema.additionalProperties);
  if (!schema.properties) return copy;
  const filled = Object.entries(schema.properties).flatMap(([name, member]) => (isFilled(member) ? name : []));
  copy.required = [...new Set([...requiredOf(schema), ...filled])];
  copy.properties = Object.fromEntries(
    Object.entries(schema.properties).map(([name, member]) => [name, effective(member)]),
  );
  return copy;
}

/**
 * As in core/settings: an object is created when some member has a default and no required member lacks one.
 * @param {Schema} schema
 * @returns {boolean}
 */
function isFilled(schema) {
  if (schema.default !== undefined) return true;
  if (!schema.properties) return false;
  const entries = Object.entries(schema.properties);
  const misses = entries.some(([name, member]) => requiredOf(schema).includes(name) && !isFilled(member));
  return !misses && entries.some(([, member]) => isFilled(member));
}

/** @param {Schema} schema */
function requiredOf(schema) {
  return Array.isArray(schema.required) ? schema.required : [];
}

/** @param {string} text */
function readOnly(text) {
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) {
    const indent = /^(\s*)\}\[\]/.exec(line)?.[1];
    if (indent === undefined) continue;
    const opening = new RegExp(`^${indent}\\S.*\\{$`);
    const opens = lines.findLastIndex((one, at) => at < index && opening.test(one));
    lines[opens] = `${lines[opens]?.slice(0, -1)}readonly {`;
  }
  return lines
    .map((line) =>
      line
        .replace(/^(\s+)((?:\[\w+: string\]|\w+|'[^']+')\??: )/, '$1readonly $2')
        .replace(/: ((?:\w+|\([^()]*\))\[\];)$/, ': readonly $1'),
    )
    .join('\n')
    .replace(/^(\s*)\/\*\*\n\s*\* (.*)\n\s*\*\/$/gm, (comment, indent, sentence) =>
      indent.length + sentence.length + 7 <= 120 ? `${indent}/** ${sentence} */` : comment,
    );
}

/** @param {string} path */
function readIfPresent(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}
