import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Ajv2020, Options, ValidateFunction } from 'ajv/dist/2020.js';
import { MortiseError } from '../sdk/index.js';
import { pointerPart } from '../sdk/json.js';
import { cachePath, loadCached, storeCached } from './cached-validators.js';
import { toIssues } from './issues.js';
import type { CompiledSchema, CompileOptions, JsonSchema, SchemaCompiler, SchemaIssue, SchemaResult } from './types.js';
import { subSchemas } from './walk.js';

/** Freezes a JSON value deeply. Returns its argument. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

/** Reads `schemas/<name>.schema.json` of the project: `plugin`, `plugins`, `mortise`. */
export async function loadSchema(projectDir: string, name: string): Promise<JsonSchema> {
  return JSON.parse(await readFile(join(projectDir, 'schemas', `${name}.schema.json`), 'utf8')) as JsonSchema;
}

const require = createRequire(import.meta.url);
// Loaded when the first schema is compiled: a start with all validators cached does not need them.
const compilers = (): typeof import('ajv/dist/2020.js') => require('ajv/dist/2020.js');
const formats = (): typeof import('ajv-formats') => require('ajv-formats');
const standalone = (): typeof import('ajv/dist/standalone/index.js') => require('ajv/dist/standalone');

const maxDepth = 32;
/** Above this number of JSON values only the first issue is reported, because the list could be huge. */
const maxValuesForAllIssues = 10_000;

// Optimising the code of a validator takes a third of its compilation without a measurable gain.
const checked: Options = {
  code: { optimize: false, source: true },
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
};
const foreign: Options = { strict: false, validateFormats: true };
// The compiler refuses the same schemas as the meta-schema; one shared instance provides the message.
const common: Options = { validateSchema: false, meta: false, addUsedSchema: false, verbose: true, logger: false };

let metaAjv: Ajv2020 | undefined;

function metaErrors(schema: JsonSchema): string | undefined {
  metaAjv ??= new (compilers().Ajv2020)({ strict: false, logger: false });
  const { $schema: _, ...plain } = schema;
  if (metaAjv.validateSchema(plain) === true) return undefined;
  const first = metaAjv.errors?.[0];
  return first === undefined ? 'it does not fit the meta-schema' : `at "${first.instancePath}": ${first.message ?? ''}`;
}

function extensionKeywords(schema: JsonSchema, name: string, found: Set<string>, depth = 1): Set<string> {
  if (depth > maxDepth) throw invalid(name, `it is deeper than ${maxDepth} levels`);
  for (const keyword of Object.keys(schema)) if (keyword.startsWith('x-')) found.add(keyword);
  for (const inner of subSchemas(schema)) extensionKeywords(inner, name, found, depth + 1);
  return found;
}

function invalid(name: string, why: string, cause?: unknown): MortiseError {
  return new MortiseError('invalid_schema', `${name} is not a usable JSON Schema: ${why}.`, {
    hint: 'Correct the schema; it is read as draft 2020-12, and $ref may only point into the same document.',
    cause,
  });
}

function countValues(value: unknown, limit: number): number {
  const open = [value];
  let count = 0;
  while (open.length > 0 && count <= limit) {
    const next = open.pop();
    count += 1;
    if (typeof next !== 'object' || next === null) continue;
    for (const member of Object.values(next)) open.push(member);
  }
  return count;
}

/** Members that the validator calls to compare objects for `uniqueItems`: a value that has them as data makes it throw. */
const compared = ['toString', 'valueOf'];

function issuesOf(validate: ValidateFunction, value: unknown): readonly SchemaIssue[] {
  try {
    return validate(value) ? [] : toIssues(validate.errors ?? []);
  } catch (error) {
    const path = pathOf(value, compared);
    if (path === undefined) throw error;
    return [{ path, keyword: 'propertyNames', message: 'is a name that is not allowed here', params: {} }];
  }
}

/** The JSON Pointer of the first member with one of these names; undefined without one. */
function pathOf(value: unknown, names: readonly string[], path = ''): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}/${pointerPart(name)}`;
    const found = names.includes(name) ? at : pathOf(member, names, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Variant = 'first' | 'all' | 'defaults';

const variants: Readonly<Record<Variant, Options>> = {
  first: {},
  all: { allErrors: true },
  defaults: { allErrors: true, useDefaults: true },
};

function optionsFor(variant: Variant, { foreign: isForeign }: CompileOptions): Options {
  return { ...common, ...(isForeign === true ? foreign : checked), ...variants[variant] };
}

/** Creates the compiler of one owner: a plugin or the host. */
export function createSchemaCompiler(): SchemaCompiler {
  const shared = new Map<string, Ajv2020>();

  function instance(variant: Variant, options: CompileOptions, keywords: ReadonlySet<string>, own: boolean): Ajv2020 {
    const key = `${variant} ${options.foreign === true}`;
    const known = own ? undefined : shared.get(key);
    const ajv = known ?? new (compilers().Ajv2020)(optionsFor(variant, options));
    if (known === undefined) {
      formats().default(ajv);
      // ajv follows references to an anchor, but its strict mode does not know the keyword.
      ajv.addKeyword('$anchor');
      if (!own) shared.set(key, ajv);
    }
    for (const keyword of keywords) if (ajv.RULES.keywords[keyword] !== true) ajv.addKeyword(keyword);
    return ajv;
  }

  return {
    compile<T>(schema: JsonSchema, options: CompileOptions): CompiledSchema<T> {
      const keywords = extensionKeywords(schema, options.name, new Set());
      const { $schema: _, ...plain } = schema;
      const functions = new Map<Variant, ValidateFunction>();

      // Schemas of other systems are unbounded in number and not cached.
      function load(variant: Variant): ValidateFunction {
        const place = options.foreign === true ? undefined : cachePath(plain, optionsFor(variant, options));
        const cached = place === undefined ? undefined : loadCached(place);
        if (cached !== undefined) return cached;
        // A schema with an $id gets a separate instance, because the same $id may be used again after a reload.
        const ajv = instance(variant, options, keywords, typeof plain.$id === 'string');
        const made = ajv.compile(plain);
        if (place !== undefined) storeCached(place, standalone().default(ajv, made));
        return made;
      }

      function validator(variant: Variant): ValidateFunction {
        let made = functions.get(variant);
        if (made === undefined) {
          try {
            made = load(variant);
          } catch (error) {
            // The meta-schema gives better messages than the compiler, but compiling it takes 40 ms that a valid schema does not need.
            throw invalid(
              options.name,
              metaErrors(schema) ?? (error instanceof Error ? error.message : String(error)),
              error,
            );
          }
          functions.set(variant, made);
        }
        return made;
      }

      function check(value: unknown): readonly SchemaIssue[] {
        const issues = issuesOf(validator('first'), value);
        if (issues.length === 0 || countValues(value, maxValuesForAllIssues) > maxValuesForAllIssues) return issues;
        return issuesOf(validator('all'), value);
      }

      function parse(value: unknown): SchemaResult<T> {
        const clone: unknown = structuredClone(value);
        const errors = issuesOf(validator('defaults'), clone);
        if (errors.length > 0) return { ok: false, errors };
        return { ok: true, value: deepFreeze(clone) as T };
      }

      validator(options.use === 'parse' ? 'defaults' : 'first');
      return { name: options.name, schema, parse, check };
    },
  };
}
