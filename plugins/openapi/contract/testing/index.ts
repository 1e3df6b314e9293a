import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { JsonObject } from 'mortise/sdk';
import { parse } from 'yaml';
import { surfaceFile } from '../index.js';

const checkout = join(import.meta.dirname, '..', '..', '..', '..', '..');

type Content = Readonly<Record<string, { readonly schema?: JsonObject }>>;

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: JsonObject;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Content }>>;
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const verbs = ['get', 'put', 'post', 'delete', 'patch', 'options'];

/** `schemas/openapi.yaml`. */
export function readDescription(): Description {
  return parse(readFileSync(join(checkout, surfaceFile), 'utf8')) as Description;
}

/** `GET /chats/{chat_id}` of every operation. */
export function operationsOf({ paths }: Description): readonly string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).flatMap((name) => (verbs.includes(name) ? `${name.toUpperCase()} ${path}` : [])),
  );
}

/** One call, as a client sees it. */
export interface Exchange {
  readonly method: string;
  /** With or without a query. */
  readonly path: string;
  /** JSON that was sent; undefined for none, or for another type. */
  readonly body?: unknown;
  /** Its body is read from a copy. */
  readonly response: Response;
}

/** Checks calls against the description. */
export function exchangeCheck(description: Description): (exchange: Exchange) => Promise<void> {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(description, 'surface');
  const templates = Object.keys(description.paths).map((template) => ({
    template,
    // A fixed segment takes precedence over a parameter.
    fixed: template.replaceAll(/\{\w+\}/g, '').length,
    pattern: new RegExp(
      `^${template
        .replaceAll('.', '\\.')
        .replaceAll(/\/\{\w+\}(?=\/)/g, '/[^/]+')
        .replace(/\{\w+\}$/, '.+')}$`,
    ),
  }));
  templates.sort((a, b) => b.fixed - a.fixed);

  const check = (pointer: string, value: unknown, what: string) => {
    const validate = ajv.getSchema(`surface#${pointer}`) ?? ajv.compile({ $ref: `surface#${pointer}` });
    expect(validate(value) ? [] : validate.errors, `${what} ${JSON.stringify(value)?.slice(0, 2_000)}`).to.deep.equal(
      [],
    );
  };

  const checkQuery = (parameters: readonly Parameter[], query: URLSearchParams, name: string) => {
    const declared = parameters.filter((one) => one.in === 'query');
    for (const [key, text] of query) {
      const parameter = declared.find((one) => one.name === key);
      expect(parameter, `the query parameter ${key} of ${name}`).to.be.an('object');
      if (!parameter) continue;
      const { type } = parameter.schema;
      const value = type === 'boolean' ? text === 'true' : type === 'integer' ? Number(text) : text;
      const issues = ajv.validate(parameter.schema, type === 'array' ? [text] : value) ? [] : ajv.errors;
      expect(issues, `the query parameter ${key}=${text} of ${name}`).to.deep.equal([]);
    }
    const missing = declared.filter((one) => one.required === true && !query.has(one.name));
    expect(missing, `the query of ${name}`).to.deep.equal([]);
  };

  return async ({ method, path, body, response }) => {
    const plain = path.split('?')[0] ?? '';
    const verb = method.toLowerCase();
    const template = templates.find(
      (one) => one.pattern.test(plain) && description.paths[one.template]?.[verb] !== undefined,
    )?.template;
    const operation = description.paths[template ?? '']?.[verb];
    expect(operation, `an operation for ${method} ${plain}`).to.be.an('object');
    if (!operation || template === undefined) return;
    const at = `/paths/${escaped(template)}/${verb}`;
    const name = `${method} ${template}`;
    checkQuery(operation.parameters ?? [], new URL(path, 'http://localhost').searchParams, name);
    if (response.ok && body !== undefined) {
      expect(operation.requestBody?.content, `a request body of ${name}`).to.have.property('application/json');
      check(`${at}/requestBody/content/application~1json/schema`, body, `the request of ${name}`);
    }
    const status = String(response.status);
    const key = status in operation.responses ? status : 'default';
    if (response.ok) expect(key, `a response of ${name} to ${status}`).to.equal(status);
    const answer = operation.responses[key];
    const place = answer?.$ref?.slice(1) ?? `${at}/responses/${key}`;
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    const content = answer?.$ref ? { 'application/json': {} } : (answer?.content ?? {});
    if (type === '') return;
    expect(Object.keys(content), `content of ${name}, ${status}`).to.include(type);
    if (type !== 'application/json') return;
    check(
      `${place}/content/application~1json/schema`,
      await response.clone().json(),
      `the response of ${name}, ${status}:`,
    );
  };
}

/** A segment of a JSON pointer in a URI fragment. */
function escaped(template: string): string {
  return encodeURIComponent(template.replaceAll('~', '~0').replaceAll('/', '~1'));
}
