import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type CompiledSchema, createSchemaCompiler, loadSchema } from '../index.js';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));

const manifest = {
  manifestVersion: 1,
  key: 'tool-echo',
  version: '1.0.0',
  title: 'Echo',
  summary: 'Returns its input.',
};

const route = { name: 'echo', kind: 'http', method: 'GET', path: '/echo/:id', auth: 'key' };

describe('the schema of plugin manifests', () => {
  let schema: CompiledSchema;
  before(async () => {
    schema = createSchemaCompiler().compile(await loadSchema(repository, 'plugin'), { name: 'plugin.schema.json' });
  });

  it('allows at most 20 members', async () => {
    const { properties } = (await loadSchema(repository, 'plugin')) as { properties: object };
    expect(Object.keys(properties)).to.have.length.of.at.most(20);
  });

  it('allows the smallest manifest and a full one', () => {
    expect(schema.check(manifest)).to.deep.equal([]);
    const full = {
      ...manifest,
      entry: 'lib/index.js',
      engines: { mortise: '>=0.1.0', node: '>=22.14' },
      requires: ['text-analysis'],
      optional: ['gate'],
      contributes: {
        tool: ['echo', 'mcp__*', { key: 'chat.send', facts: 'tools/send.json' }, { key: 'x', facts: { summary: 'y' } }],
        route: ['echo'],
      },
      provides: ['kb', 'memoryClient'],
      permissions: {
        services: ['database', 'metrics'],
        routes: [
          route,
          { ...route, name: 'all', method: ['POST', 'PUT'], path: '/' },
          { ...route, path: '/files/*rest' },
        ],
        schemas: ['logbook', 'governance'],
        network: ['*.example.com'],
        secrets: ['*_API_KEY'],
        files: ['workspace'],
        exec: ['git'],
      },
      config: 'config.schema.json',
      reload: 'live',
      timeouts: { start: 1_000, call: 5_000 },
      isolation: 'in-process',
      docs: 'README.md',
    };
    expect(schema.check(full)).to.deep.equal([]);
  });

  const refused: readonly (readonly [string, object, string])[] = [
    ['an unknown member', { ...manifest, requries: [] }, '/requries'],
    ['a key with capitals', { ...manifest, key: 'Echo' }, '/key'],
    ['a key that ends in a dash', { ...manifest, key: 'echo-' }, '/key'],
    ['a key of 65 characters', { ...manifest, key: 'a'.repeat(65) }, '/key'],
    ['another manifest version', { ...manifest, manifestVersion: 2 }, '/manifestVersion'],
    ['an invalid version', { ...manifest, version: '1.0' }, '/version'],
    ['an entry outside its folder', { ...manifest, entry: '../other/index.js' }, '/entry'],
    ['an absolute entry', { ...manifest, entry: '/etc/passwd' }, '/entry'],
    [
      'facts outside its folder',
      { ...manifest, contributes: { tool: [{ key: 'a', facts: 'x/../../y.json' }] } },
      '/contributes/tool/0',
    ],
    ['the same requirement twice', { ...manifest, requires: ['a', 'a'] }, '/requires'],
    ['the same contribution twice', { ...manifest, contributes: { tool: ['a', 'a'] } }, '/contributes/tool'],
    ['a pattern with an asterisk inside', { ...manifest, contributes: { tool: ['a*b'] } }, '/contributes/tool/0'],
    [
      'a route without auth',
      { ...manifest, permissions: { routes: [{ ...route, auth: undefined }] } },
      '/permissions/routes/0/auth',
    ],
    [
      'a route with an unknown auth',
      { ...manifest, permissions: { routes: [{ ...route, auth: 'none' }] } },
      '/permissions/routes/0/auth',
    ],
    [
      'a relative route',
      { ...manifest, permissions: { routes: [{ ...route, path: 'echo' }] } },
      '/permissions/routes/0/path',
    ],
    [
      'a rest segment in the middle',
      { ...manifest, permissions: { routes: [{ ...route, path: '/*rest/x' }] } },
      '/permissions/routes/0/path',
    ],
    ['a start that may last a day', { ...manifest, timeouts: { start: 86_400_000 } }, '/timeouts/start'],
    ['a time limit of zero', { ...manifest, timeouts: { call: 0 } }, '/timeouts/call'],
  ];
  for (const [what, value, path] of refused) {
    it(`refuses ${what}`, () => {
      const issues = schema.check(JSON.parse(JSON.stringify(value)));
      expect(issues.map((issue) => issue.path)).to.include(path);
    });
  }
});

describe('the schemas of plugins.json and of the host settings', () => {
  for (const name of ['plugins', 'mortise']) {
    it(`${name}.schema.json compiles and rejects unknown names`, async () => {
      const schema = createSchemaCompiler().compile(await loadSchema(repository, name), { name, use: 'parse' });
      expect(schema.check({ version: 1, plugins: {}, nonsense: 1 }).map((issue) => issue.path)).to.include('/nonsense');
    });
  }
});
