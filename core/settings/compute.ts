import {
  allowedBy,
  type CompiledSchema,
  type JsonSchema,
  resolveLocal,
  type SchemaIssue,
  withinTime,
} from '../schema/index.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { isJsonObject } from '../sdk/json.js';
import { convertVariable, isDoubtfulFlag } from './convert.js';
import type { Environment, SecretVariablesOf } from './environment.js';
import { allAt, fromPointer, getAt, isAtOrBelow, member, removeAt, setAt, toPointer } from './path.js';
import { issueSentence, shownValue } from './problems.js';
import { maskRecognised } from './recognised-secrets.js';
import { isSecretPath, type PropertyFacts, propertyAt, type SchemaFacts } from './schema-facts.js';
import type { ConfigIssue } from './types.js';

const maxDepth = 16;

/** An object that has defaults, and no required member without a default. */
function defaultsItself(schema: JsonSchema, root: JsonSchema, depth: number): boolean {
  if (!isJsonObject(schema.properties) || depth > maxDepth) return false;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  let some = false;
  for (const [name, raw] of Object.entries(schema.properties)) {
    const property = isJsonObject(raw) ? resolveLocal(raw, root) : {};
    const has = property.default !== undefined || defaultsItself(property, root, depth + 1);
    if (required.includes(name) && !has) return false;
    some ||= has;
  }
  return some;
}

/** Creates the objects that consist of defaults, so that a schema need not repeat `default: {}` at each level. */
function fillParents(schema: JsonSchema, root: JsonSchema, value: Record<string, unknown>, depth = 0): void {
  if (!isJsonObject(schema.properties) || depth > maxDepth) return;
  for (const [name, raw] of Object.entries(schema.properties)) {
    if (!isJsonObject(raw)) continue;
    const property = resolveLocal(raw, root);
    const present = member(value, name);
    if (isJsonObject(present)) fillParents(property, root, present, depth + 1);
    else if (present === undefined && property.default === undefined && defaultsItself(property, root, depth)) {
      const made: Record<string, unknown> = {};
      value[name] = made;
      fillParents(property, root, made, depth + 1);
    }
  }
}

interface ComputeInput {
  readonly facts: SchemaFacts;
  readonly compiled: CompiledSchema<Record<string, unknown>>;
  /** The file's object; undefined without a file. */
  readonly file: Readonly<Record<string, unknown>> | undefined;
  /** The file's name for messages and provenance. */
  readonly fileName: string;
  readonly environment: Environment;
  readonly secretVariables: SecretVariablesOf;
  readonly secrets: { readonly problem: Error | null; get(name: string): string | undefined };
}

/** Where the value at a path, and what is below it, came from. */
export interface Provenance {
  readonly path: readonly string[];
  readonly source: Extract<EffectiveValue['source'], 'environment' | 'secret'>;
  /** The variable, or the secret's name. */
  readonly origin: string;
  /** The variable's text. */
  readonly text: string | undefined;
}

export interface ComputedConfig {
  readonly ok: true;
  readonly config: Readonly<Record<string, unknown>>;
  readonly provenance: readonly Provenance[];
  /** Clear values that must not appear in logs. */
  readonly secrets: readonly string[];
  readonly warnings: readonly string[];
}

export type Computed =
  | ComputedConfig
  | { readonly ok: false; readonly issues: readonly ConfigIssue[]; readonly secrets: readonly string[] };

/** The origin of an issue that comes from neither a file nor a variable. */
export const schemaFile = 'config.schema.json';

/** How long a check may take, milliseconds. It takes microseconds, unless a pattern backtracks catastrophically. */
const maxCheckMs = 2_000;

function endlessCheck(fileName: string): ConfigIssue {
  return {
    path: '',
    place: `the check of ${fileName}`,
    keyword: 'pattern',
    message: `takes more than ${maxCheckMs / 1_000} s: one of its patterns backtracks without end`,
    params: {},
    origin: schemaFile,
    shown: undefined,
  };
}

/** Everything a start or a reload needs to know about one owner's configuration. Nothing is read from disk here. */
export function compute(input: ComputeInput): Computed {
  // The time limit takes half a millisecond, the check itself a tenth.
  if (!input.facts.hasPatterns) return computeNow(input);
  const issues = [endlessCheck(input.fileName)];
  return withinTime(() => computeNow(input), maxCheckMs)?.value ?? { ok: false, issues, secrets: [] };
}

function computeNow(input: ComputeInput): Computed {
  const { facts, secretVariables } = input;
  const value: Record<string, unknown> = structuredClone({ ...input.file });
  const provenance: Provenance[] = [];
  const issues: ConfigIssue[] = [];
  const warnings: string[] = [];

  /** An invalid value of a lenient property is removed, so that the default applies. */
  function setAside(property: PropertyFacts, issue: ConfigIssue): void {
    removeAt(value, property.path);
    const at = provenance.findIndex((entry) => isAtOrBelow(property.path, entry.path));
    if (at >= 0) provenance.splice(at, 1);
    warnings.push(`${issueSentence(issue)} Its default is used.`);
  }

  /** Puts the secrets in the places of `{"$secret": "NAME"}`. */
  function resolveReferences(within: unknown, path: readonly string[]): void {
    if (typeof within !== 'object' || within === null) return;
    for (const [name, inner] of Object.entries(within)) {
      const at = [...path, name];
      const reference = secretReference(inner);
      if (reference === undefined) {
        resolveReferences(inner, at);
        continue;
      }
      const secret = input.secrets.get(reference);
      if (secret !== undefined) {
        Reflect.set(within, name, secret);
        provenance.push({ path: at, source: 'secret', origin: reference, text: undefined });
      } else {
        const { problem } = input.secrets;
        const message = problem
          ? `names the secret ${reference}, and ${problem.message.replace(/\.$/, '')}`
          : `names the secret ${reference}, which is neither a variable nor in secrets.json`;
        const params = { secret: reference };
        const path = toPointer(at);
        issues.push({
          path,
          place: path,
          keyword: '$secret',
          message,
          params,
          origin: input.fileName,
          shown: undefined,
        });
      }
    }
  }

  /** Applies the variables on top of the file. */
  function applyVariables(): void {
    for (const property of facts.properties) {
      const variable = property.env.map((name) => input.environment.read(name)).find((found) => found !== undefined);
      if (variable === undefined) continue;
      const converted = convertVariable(variable.value, property.schema);
      if (converted.ok) {
        setAt(value, property.path, converted.value);
        const { path } = property;
        provenance.push({ path, source: 'environment', origin: variable.name, text: variable.value });
        if (isDoubtfulFlag(variable.value, property.schema))
          warnings.push(`${variable.name} is neither true nor false; it is read as false.`);
        continue;
      }
      const issue: ConfigIssue = {
        path: toPointer(property.path),
        keyword: 'type',
        message: `must be ${allowedBy(property.schema)}`,
        params: {},
        place: '',
        origin: variable.name,
        shown: shownValue(
          variable.value,
          isSecretPath(facts, property.path, true) || secretVariables.has(variable.name, property),
        ),
      };
      if (property.lenient) setAside(property, issue);
      else issues.push(issue);
    }
  }

  /** The value comes from the schema's default. */
  function isDefault({ keyword }: SchemaIssue, path: readonly string[]): boolean {
    return keyword !== 'required' && defaultAt(facts, path) !== undefined && getAt(value, path) === undefined;
  }

  function withOrigin(issue: SchemaIssue): ConfigIssue {
    const path = fromPointer(issue.path);
    const from = provenance.findLast((entry) => isAtOrBelow(entry.path, path));
    const secret = from?.source === 'secret' || isSecretPath(facts, path, true);
    if (from === undefined && isDefault(issue, path)) {
      const shown = shownValue(defaultAt(facts, path), secret);
      return { ...issue, origin: schemaFile, place: `the default of ${issue.path}`, shown };
    }
    if (from?.source !== 'environment') {
      const [variable] = issue.keyword === 'required' ? (propertyAt(facts, path)?.env ?? []) : [];
      return {
        ...issue,
        ...(variable !== undefined && { message: `${issue.message}: write it there, or set ${variable}` }),
        origin: input.fileName,
        place: issue.path,
        shown: shownValue(getAt(value, path), secret),
      };
    }
    const place = toPointer(path.slice(from.path.length));
    const hidden = secret || secretVariables.has(from.origin, propertyAt(facts, from.path));
    const shown = shownValue(place === '' ? from.text : getAt(value, path), hidden);
    return { ...issue, origin: from.origin, place, shown };
  }

  function parse() {
    const first = input.compiled.parse(value);
    if (first.ok) return first;
    const lenient = facts.properties.filter((property) => property.lenient);
    for (const issue of first.errors) {
      const property = lenient.find((candidate) => isAtOrBelow(candidate.path, fromPointer(issue.path)));
      if (property !== undefined) setAside(property, withOrigin(issue));
    }
    return warnings.length > 0 ? input.compiled.parse(value) : first;
  }

  if (!isJsonObject(facts.schema.properties) || facts.schema.properties.$schema === undefined) delete value.$schema;
  for (const name of input.file === undefined ? [] : facts.fileRequired) {
    if (getAt(value, [name]) !== undefined) continue;
    const path = toPointer([name]);
    const params = { missingProperty: name };
    const message = 'is required';
    issues.push({ path, place: path, keyword: 'required', message, params, origin: input.fileName, shown: undefined });
  }
  resolveReferences(value, []);
  applyVariables();
  fillParents(facts.schema, facts.schema, value);
  const result = parse();
  const secrets = [
    ...facts.properties.filter((property) => property.secret),
    ...provenance.filter((entry) => entry.source === 'secret' || secretVariables.isForeign(entry.origin)),
  ]
    .flatMap(({ path }) => allAt(value, path).flatMap(textsIn))
    .concat(
      facts.properties
        .filter(({ mayHoldSecret }) => mayHoldSecret)
        .flatMap(({ path }) => allAt(value, path).flatMap(recognisedIn)),
    );
  if (!result.ok) {
    // A value that could not be parsed is not reported again for its type.
    const reported = issues.map((issue) => fromPointer(issue.path));
    const others = result.errors.filter(
      (issue) => !reported.some((path) => isAtOrBelow(path, fromPointer(issue.path))),
    );
    issues.push(...others.map(withOrigin));
  }
  if (!result.ok || issues.length > 0) return { ok: false, issues, secrets };
  return { ok: true, config: result.value, provenance, secrets, warnings };
}

function defaultAt(facts: SchemaFacts, path: readonly string[]): unknown {
  return propertyAt(facts, path)?.schema.default;
}

/** The name in `{"$secret": "NAME"}`; undefined for anything else. */
export function secretReference(value: unknown): string | undefined {
  if (!isJsonObject(value) || Object.keys(value).length !== 1) return undefined;
  return typeof value.$secret === 'string' ? value.$secret : undefined;
}

function recognisedIn(value: unknown): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.flatMap((text, index) =>
    typeof text === 'string' && maskRecognised(text, texts[index - 1]) !== text ? [text] : [],
  );
}

/** Without names of secrets that were not found: their message must show them. */
function textsIn(value: unknown): readonly string[] {
  if (secretReference(value) !== undefined) return [];
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
