import { expect } from 'chai';
import { createSchemaCompiler, issueClass, type JsonSchema } from '../index.js';

const schema: JsonSchema = {
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, 'x-env': ['MORTISE_NAME'], 'x-secret': true },
    count: { type: 'integer', minimum: 1, maximum: 50, default: 5 },
    mode: { enum: ['file', 'catalog'], default: 'file' },
    tags: { type: 'array', maxItems: 3, uniqueItems: true, items: { type: 'string' } },
    target: { anyOf: [{ type: 'string' }, { type: 'object', required: ['id'] }] },
    home: { type: 'string', format: 'uri' },
  },
};

function compiled(of: JsonSchema = schema) {
  return createSchemaCompiler().compile<Record<string, unknown>>(of, { name: 'the test schema' });
}

describe('a compiled schema', () => {
  it('fills in defaults on a frozen copy and does not change the given value', () => {
    const given = Object.freeze({ name: 'a', tags: Object.freeze(['x']) });
    const result = compiled().parse(given);
    expect(result).to.deep.equal({ ok: true, value: { name: 'a', tags: ['x'], count: 5, mode: 'file' } });
    expect(given).to.deep.equal({ name: 'a', tags: ['x'] });
    expect(result.ok && Object.isFrozen(result.value) && Object.isFrozen(result.value.tags)).to.equal(true);
  });

  it('checks arguments without coercion, defaults or changes', () => {
    const args = { name: 'a', count: '5' };
    expect(
      compiled()
        .check(args)
        .map((issue) => issue.path),
    ).to.deep.equal(['/count']);
    const fine = { name: 'a' };
    expect(compiled().check(fine)).to.deep.equal([]);
    expect(fine).to.deep.equal({ name: 'a' });
  });

  it('reports what is missing before wrong types before wrong values', () => {
    const issues = compiled().check({ count: 99, mode: 7, tags: 'no' });
    expect(issues.map((issue) => [issue.path, issueClass(issue)])).to.deep.equal([
      ['/name', 'missing'],
      ['/tags', 'type'],
      ['/count', 'value'],
      ['/mode', 'value'],
    ]);
  });

  it('reports the schema of the violated keyword', () => {
    const [missing] = compiled().check({});
    expect(missing?.params).to.deep.equal({ missingProperty: 'name' });
  });

  const sentences: readonly (readonly [unknown, string, string])[] = [
    [{ name: 'a', count: 0 }, '/count', 'must be a whole number from 1 to 50'],
    [{ name: 'a', count: '1' }, '/count', 'must be a whole number from 1 to 50'],
    [{ name: 'a', mode: 'x' }, '/mode', 'must be one of file, catalog'],
    [{ name: '' }, '/name', 'must be text of at least 1 character'],
    [{ name: 'a', tags: ['x', 'x'] }, '/tags', 'must be a list of at most 3 entries without duplicates'],
    [{ name: 'a', 'co/unt': 1 }, '/co~1unt', 'is not a known name; known here: name, count, mode, tags, target, home'],
    [{ name: 'a', target: 7 }, '/target', 'must be text or an object'],
    [{ name: 'a', target: {} }, '/target', 'matches none of the allowed forms'],
    [{ name: 'a', home: 'nowhere' }, '/home', 'must be text in the form uri'],
    [7, '', 'must be an object'],
  ];
  for (const [value, path, message] of sentences) {
    it(`reports in words: ${path} ${message}`, () => {
      expect(
        compiled()
          .check(value)
          .map((issue) => [issue.path, issue.message]),
      ).to.deep.equal([[path, message]]);
    });
  }

  it('reports only the first issue of a huge value', () => {
    const numbers = compiled({ type: 'array', items: { type: 'string' } });
    expect(numbers.check(new Array(200_000).fill(1))).to.have.length(1);
    expect(numbers.check(new Array(20).fill(1))).to.have.length(20);
  });

  it('treats members with names of a prototype as data', () => {
    const issues = compiled().check(JSON.parse('{"name":"a","__proto__":{"x":1},"constructor":2}'));
    expect(issues.map((issue) => issue.path)).to.deep.equal(['/__proto__', '/constructor']);
  });

  it('reports members that comparing objects would call', () => {
    const schema = {
      type: 'object',
      properties: { list: { type: 'array', uniqueItems: true, items: {} } },
      required: ['list'],
    };
    const { check, parse } = createSchemaCompiler().compile(schema, { name: 'of the test' });
    for (const name of ['toString', 'valueOf']) {
      const value = { list: [{ a: 1 }, { [name]: 0 }, { [name]: 0 }] };
      expect(check(value)).to.deep.include.members([
        {
          path: `/list/1/${name}`,
          keyword: 'propertyNames',
          message: 'is a name that is not allowed here',
          params: {},
        },
      ]);
      expect(parse(value)).to.include({ ok: false });
      expect(check({ list: [{ [name]: 0 }] })).to.deep.equal([]);
    }
  });

  it('lets one owner use an $id again and two owners use the same', () => {
    const identified = { $id: 'https://example.test/config', type: 'object' };
    const compiler = createSchemaCompiler();
    for (let round = 0; round < 2; round += 1) compiler.compile({ ...identified }, { name: 'again' });
    createSchemaCompiler().compile(identified, { name: 'other' });
  });

  const unusable: readonly (readonly [string, JsonSchema])[] = [
    ['a type that does not exist', { type: 'objct' }],
    ['a keyword that does not exist', { type: 'object', propertis: {} }],
    ['a format that does not exist', { type: 'string', format: 'telephone' }],
    ['a reference to another document', { $ref: 'https://example.test/schema.json' }],
    ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
    ['more than 32 levels', deep(40)],
  ];
  for (const [what, faulty] of unusable) {
    it(`refuses a schema with ${what} when it is compiled`, () => {
      expect(() => compiled(faulty))
        .to.throw('the test schema is not a usable JSON Schema')
        .with.property('code', 'invalid_schema');
    });
  }

  it('supports every keyword of draft 2020-12', () => {
    const everyKeyword: JsonSchema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.test/every-keyword',
      $comment: 'Core, applicator, validation, unevaluated, format, content and meta-data vocabularies.',
      $defs: {
        place: { $anchor: 'place', type: 'object', properties: { town: { type: 'string' } } },
        tree: { $dynamicAnchor: 'tree', type: 'object', properties: { left: { $dynamicRef: '#tree' } } },
      },
      title: 'T',
      description: 'D',
      default: {},
      examples: [{}],
      deprecated: false,
      readOnly: false,
      writeOnly: false,
      type: 'object',
      properties: {
        home: { $ref: '#place' },
        tree: { $ref: '#/$defs/tree' },
        text: {
          type: 'string',
          minLength: 1,
          maxLength: 9,
          pattern: '^a',
          format: 'hostname',
          contentEncoding: 'base64',
          contentMediaType: 'application/json',
          contentSchema: { type: 'object' },
        },
        number: { type: 'number', minimum: 1, maximum: 9, exclusiveMinimum: 0, exclusiveMaximum: 10, multipleOf: 2 },
        list: {
          type: 'array',
          prefixItems: [{ const: 1 }],
          items: { enum: [1, 2] },
          contains: { const: 1 },
          minContains: 1,
          maxContains: 2,
          minItems: 1,
          maxItems: 3,
          uniqueItems: true,
        },
        choice: { allOf: [{ anyOf: [{ oneOf: [{ not: { type: 'null' } }] }] }], unevaluatedItems: false },
      },
      patternProperties: { '^x-': true },
      additionalProperties: { type: 'boolean' },
      propertyNames: { maxLength: 9 },
      minProperties: 0,
      maxProperties: 9,
      required: [],
      dependentRequired: { text: ['number'] },
      dependentSchemas: { list: { type: 'object' } },
      if: { required: ['text'] },
      then: { required: ['number'] },
      else: {},
      unevaluatedProperties: false,
    };
    expect(compiled(everyKeyword).check({ home: { town: 7 } })).to.deep.include({
      path: '/home/town',
      keyword: 'type',
      message: 'must be text',
      params: { type: 'string' },
    });
  });

  it('accepts unknown keywords of another system on request', () => {
    const foreign = createSchemaCompiler().compile(
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', markdownDescription: 'x', format: 'grid' },
      { name: 'foreign', foreign: true },
    );
    expect(foreign.check({})).to.deep.equal([]);
  });
});

function deep(levels: number): JsonSchema {
  return levels === 0 ? { type: 'string' } : { type: 'object', properties: { inner: deep(levels - 1) } };
}
