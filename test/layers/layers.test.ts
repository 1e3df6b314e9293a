import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { checkLayers } from './check-layers.js';
import { type AllowedName, checkFeatureNames } from './feature-names.js';
import { exclusivePackages, rooms } from './rooms.js';

/** Names of features that core may use, each with its reason. */
const allowedNames: readonly AllowedName[] = [
  {
    name: '/config',
    in: 'core/cli/config-commands.ts',
    reason: 'the end of a path below /admin/plugins, which is not the route of channel configurations',
  },
  { name: '/admin', in: 'core/cli/', reason: 'the command line is a client of the admin API' },
  ...['app/run-offline.ts', 'http/', 'sdk/context.ts', 'sdk/manifest.ts', 'settings/host-settings.ts'].map((file) => ({
    name: 'admin',
    in: `core/${file}`,
    reason: 'the admin right, one of the three rights of a route',
  })),
  { name: 'admin', in: 'core/settings/types.ts', reason: 'the admin right of a configured key' },
  { name: 'admin', in: 'core/cli/', reason: 'the command line is a client of the admin API, and says who serves it' },
  { name: 'audit', in: 'core/sdk/events.ts', reason: 'the host event that carries an audit row' },
  ...['base_url', 'reasoning_effort', 'timeout_ms', 'idle_timeout_ms', 'max_retries', 'models'].map((name) => ({
    name,
    in: 'core/sdk/points/provider.ts',
    reason: 'what the point of providers passes to an adapter',
  })),
  ...['kernel/plugin-host.ts', 'schedule/scheduler.ts'].map((file) => ({
    name: 'cron',
    in: `core/${file}`,
    reason: 'host.cron, a timer of the platform',
  })),
  { name: 'cron', in: 'core/sdk/observation.ts', reason: 'an ingress of observations' },
  { name: 'agent', in: 'core/sdk/points/tool.ts', reason: 'an audience of tools' },
  { name: 'mcp', in: 'core/sdk/points/tool.ts', reason: 'an audience of tools' },
  { name: 'models', in: 'core/sdk/points/declarations.ts', reason: 'what a provider lists' },
  { name: 'identity', in: 'core/http/request-body.ts', reason: 'the content coding of that name' },
  { name: 'prompts', in: 'core/telemetry/sanitize.ts', reason: 'a member of logged objects that may hold text' },
  {
    name: 'realtime',
    in: 'core/database/settings.ts',
    reason: 'the schema that the host setting DATABASE_SCHEMA renames',
  },
  { name: 'timeout_ms', in: 'core/kernel/lease-book.ts', reason: 'a detail of the error about the limit of a call' },
  ...['mcp-server', 'memory-gateway', 'memory-outbox', 'provider-openai'].map((name) => ({
    name,
    in: 'core/cli/',
    reason: 'an example in the help, which needs a plugin that exists',
  })),
];

describe('the layers', () => {
  it('hold for every import of the project', () => {
    const { files, violations } = checkLayers(fileURLToPath(new URL('../../../', import.meta.url)));
    expect(files).to.be.greaterThan(50);
    expect(violations.join('\n')).to.equal('');
  });

  it('keep feature names out of core', () => {
    const found = checkFeatureNames(fileURLToPath(new URL('../../../', import.meta.url)), allowedNames);
    expect(found.join('\n')).to.equal('');
  });

  it('name only existing rooms, each once', () => {
    const names = new Set(rooms.map(({ name }) => name));
    const named = [
      ...rooms.flatMap(({ uses, testsUse = [] }) => [...uses, ...testsUse]),
      // A plugin may have been deleted; its row is then ignored.
      ...exclusivePackages.flatMap((rule) => rule.rooms).filter((name) => !name.startsWith('plugins/')),
    ];
    expect(named.filter((name) => !names.has(name))).to.deep.equal([]);
    expect(names.size).to.equal(rooms.length);
  });
});

describe('the check of feature names', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'mortise-names-'));
    const files = {
      'schemas/mortise.schema.json': { properties: { port: { 'x-env': 'MORTISE_PORT' } } },
      'plugins/memory-pool/plugin.json': {
        key: 'memory-pool',
        provides: ['memory-pool'],
        opens: { 'pool-filter': {} },
        mounts: [{ name: 'pools' }],
        permissions: { schemas: ['pool'], routes: [{ path: '/pools/:id' }] },
      },
      'plugins/memory-pool/config.schema.json': {
        properties: {
          limits: { properties: { idle_close_minutes: {}, idleClose: {} } },
          api_key: { 'x-env': ['POOL_API_KEY'] },
          base_url: {},
        },
      },
      'plugins/kb/plugin.json': { key: 'kb' },
    };
    for (const [path, facts] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      // Formatted, because the variables of a setting are found by their formatting.
      writeFileSync(join(root, path), JSON.stringify(facts, null, 1).replace(/\[\s*("[^"]*")\s*\]/g, '[$1]'));
    }
    mkdirSync(join(root, 'core'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const verdict = (text: string): string => {
    writeFileSync(join(root, 'core', 'probe.ts'), text);
    return checkFeatureNames(root, []).join('\n');
  };

  const found: Readonly<Record<string, readonly [text: string, name: string]>> = {
    'a plugin key': [`enable('memory-pool');`, 'memory-pool'],
    'a plugin key in a path': ["read('config/memory-pool.json');", 'memory-pool'],
    'a plugin key in a template': ['read(`dist/plugins/memory-pool/index.js`);', 'memory-pool'],
    'a plugin key of one word in a path': ["read('plugins/kb/plugin.json');", 'kb'],
    'a plugin key as a member': ['deps.memoryPool.open();', 'memory-pool'],
    'a plugin key as a property': ['const services = { kb: 1 };', 'kb'],
    'a service': [`services.get('memory-pool');`, 'memory-pool'],
    'an extension point': [`points.call('pool-filter');`, 'pool-filter'],
    'a mount': [`mounts.get('pools');`, 'pools'],
    'a route': [`request('/pools/1');`, '/pools'],
    'a route in an address': [`fetch('http://127.0.0.1:8088/pools/1');`, '/pools'],
    'a table': ["statement('select * from {pool.rows}');", 'pool'],
    'a table by its name on SQLite': ["statement('select * from pool_rows');", 'pool'],
    'a setting': [`read(config, 'base_url');`, 'base_url'],
    'a setting as a member': ['config.limits.idle_close_minutes;', 'idle_close_minutes'],
    'a setting that is destructured': ['const { idle_close_minutes: minutes } = config;', 'idle_close_minutes'],
    'a variable as a member': ['process.env.POOL_API_KEY;', 'POOL_API_KEY'],
    'a variable that is destructured': ['const { POOL_API_KEY } = process.env;', 'POOL_API_KEY'],
    'a setting in camel case': ['config.idleClose;', 'idleClose'],
    'a member of a type': ['interface Deps { memoryPool: object }', 'memory-pool'],
    'a member of a class': ['class Deps { memoryPool = 1 }', 'memory-pool'],
    'a table that is joined': ["statement('select 1 from x join pool_rows');", 'pool'],
    'a route in a sentence': [`say('POST /pools/1 adds a row');`, '/pools'],
    'a plugin key of one word in a sentence': [`say('Enable the plugin kb first.');`, 'kb'],
    'an envelope of JSON-RPC': [`send({ jsonrpc: '2.0', error: { code } });`, 'error envelope'],
    "an API's error envelope": [`send({ type: 'error', error: { message } });`, 'error envelope'],
  };
  for (const [what, [text, name]] of Object.entries(found)) {
    it(`finds ${what}`, () => {
      expect(verdict(text)).to.match(new RegExp(`^core/probe\\.ts:1 names the \\w+ ${name} of a feature$`));
    });
  }

  for (const [what, text] of Object.entries({
    'a comment': '// memory-pool and POOL_API_KEY',
    'a word that contains a key': `log('a kbit of the memory-pooling');`,
    'a setting of the host': 'process.env.MORTISE_PORT;',
    'another route': `request('/poolside');`,
  })) {
    it(`ignores ${what}`, () => {
      expect(verdict(text)).to.equal('');
    });
  }

  it('reports a row of the allow list that covers nothing', () => {
    writeFileSync(join(root, 'core', 'probe.ts'), '');
    const row = { name: 'kb', in: 'core/probe.ts', reason: 'none' };
    expect(checkFeatureNames(root, [row])).to.deep.equal(['core/probe.ts does not use kb: remove its row']);
  });
});

describe('the check of the layers', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'mortise-layers-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  /** The violations in a tree of this file and some files to import from. */
  function verdict(path: string, text: string): string {
    for (const target of [
      'core/sdk/index.ts',
      'core/sdk/testing/index.ts',
      'core/kernel/plan.ts',
      'core/http/server.ts',
      'core/database/pool.ts',
      'core/app/composition.ts',
      'plugins/other/index.ts',
      'plugins/other/contract/index.ts',
      'plugins/other/contract/testing/index.ts',
    ]) {
      write(target, 'export const one = 1;\n');
    }
    write(path, text);
    return checkLayers(root).violations.join('\n');
  }

  it('checks no file in an empty tree, which the first test above would report', () => {
    expect(checkLayers(root)).to.deep.equal({ files: 0, violations: [] });
  });

  it('names file, line, import and reason', () => {
    const text = `import { join } from 'node:path';\nimport { one } from '../http/server.js';\n`;
    expect(verdict('core/kernel/lease.ts', text)).to.equal(
      'core/kernel/lease.ts:2 imports ../http/server.js: kernel may not use http (it uses sdk, messages, telemetry, schema, files, settings)',
    );
  });

  const forbidden: Readonly<Record<string, readonly [file: string, text: string, reason: RegExp]>> = {
    'a value': ['core/sdk/a.ts', `import { one } from '../kernel/plan.js';`, /sdk may not use kernel/],
    'a type': ['core/sdk/a.ts', `import type { One } from '../kernel/plan.js';`, /sdk may not use kernel/],
    'an import type': ['core/sdk/a.ts', `type A = import('../kernel/plan.js').One;`, /sdk may not use kernel/],
    'a re-export': ['core/sdk/a.ts', `export * from '../kernel/plan.js';`, /sdk may not use kernel/],
    'a named re-export': ['core/sdk/a.ts', `export { one } from '../kernel/plan.js';`, /sdk may not use kernel/],
    'a dynamic import': ['core/http/a.ts', `await import('../database/pool.js');`, /http may not use database/],
    'a dynamic import with backticks': [
      'core/http/a.ts',
      'await import(`../database/pool.js`);',
      /http may not use data/,
    ],
    'a require': ['core/http/a.ts', `require('../database/pool.js');`, /http may not use database/],
    'a resolved name': ['core/http/a.ts', `import.meta.resolve('../database/pool.js');`, /http may not use database/],
    'the address of a module': [
      'core/http/a.ts',
      `new Worker(new URL('../database/pool.js', import.meta.url));`,
      /http may not use database/,
    ],
    'a plugin from JavaScript in core': [
      'core/http/a.mjs',
      `import '../../plugins/other/index.js';`,
      /may not use plugins\/other/,
    ],
    'an import by require': [
      'core/http/a.cts',
      `import pool = require('../database/pool.js');`,
      /http may not use data/,
    ],
    'a module augmentation': [
      'core/sdk/a.ts',
      `declare module '../kernel/plan.js' { interface A { b: 1 } }`,
      /sdk may not use/,
    ],
    'a side effect': ['core/kernel/a.ts', `import '../app/composition.js';`, /kernel may not use app/],
    'the app from http': ['core/http/a.ts', `import { one } from '../app/composition.js';`, /http may not use app/],
    'the testing kit from product code': [
      'core/http/a.ts',
      `import 'mortise/sdk/testing';`,
      /may not use sdk\/testing/,
    ],
    'a plugin from core': ['core/kernel/a.ts', `import '../../plugins/other/index.js';`, /may not use plugins\/other/],
    'a plugin from another': [
      'plugins/a/index.ts',
      `import '../other/index.js';`,
      /only through mortise\/sdk and mortise\/contracts/,
    ],
    'core from a plugin by path': [
      'plugins/a/index.ts',
      `import '../../core/sdk/index.js';`,
      /only through mortise\/sdk and mortise\/contracts/,
    ],
    'the testing kit from a plugin': [
      'plugins/a/index.ts',
      `import 'mortise/sdk/testing';`,
      /may not use sdk\/testing/,
    ],
    'a plugin from a test across plugins': [
      'test/a/b.test.ts',
      `import '../../plugins/other/index.js';`,
      /may not use/,
    ],
    'an unknown entry of the package': ['plugins/a/index.ts', `import 'mortise/kernel';`, /no such entry/],
    'a file outside the project': ['core/http/a.ts', `import '../../../../elsewhere.js';`, /outside the project/],
    'an absolute path': ['core/http/a.ts', `import '/elsewhere.js';`, /only relative paths/],
    'koa outside http': ['plugins/a/index.ts', `import Koa from 'koa';`, /koa belongs to core\/http/],
    'a type of koa': ['plugins/a/index.ts', `import type { Context } from 'koa';`, /koa belongs to core\/http/],
    'a file of koa': ['core/kernel/a.ts', `import 'koa/lib/context.js';`, /koa belongs to core\/http/],
    'ws outside tests': ['plugins/a/index.ts', `import { WebSocket } from 'ws';`, /ws belongs to core\/http/],
    'knex in http': ['core/http/a.ts', `import knex from 'knex';`, /knex belongs to core\/database/],
    'a value of knex in the sdk': [
      'core/sdk/host/database.ts',
      `import knex from 'knex';`,
      /belongs to core\/database/,
    ],
    'types of knex elsewhere in the sdk': [
      'core/sdk/a.ts',
      `import type { Knex } from 'knex';`,
      /belongs to core\/data/,
    ],
    'tsyringe in the kernel': [
      'core/kernel/a.ts',
      `import { container } from 'tsyringe';`,
      /tsyringe belongs to core\/app/,
    ],
    'node-cron in the kernel': [
      'core/kernel/a.ts',
      `import cron from 'node-cron';`,
      /node-cron belongs to core\/schedule/,
    ],
    'telemetry in http': [
      'core/http/a.ts',
      `import { trace } from '@opentelemetry/api';`,
      /belongs to core\/telemetry/,
    ],
    'the SDK of one plugin in another': [
      'plugins/a/index.ts',
      `import type { OpenAI } from 'openai';`,
      /openai belongs to plugins\/provider-openai/,
    ],
    'a contract from core': [
      'core/kernel/a.ts',
      `import type {} from 'mortise/contracts/other';`,
      /kernel may not use/,
    ],
    'a contract from core by path': [
      'core/kernel/a.ts',
      `import '../../plugins/other/contract/index.js';`,
      /may not use plugins\/other\/contract/,
    ],
    'a contract by path': ['plugins/a/index.ts', `import '../other/contract/index.js';`, /only through mortise\/sdk/],
    'the inside of a plugin from its contract': [
      'plugins/other/contract/a.ts',
      `import '../index.js';`,
      /contract may not use plugins\/other/,
    ],
    'a package from a contract': ['plugins/a/contract/a.ts', `import 'semver';`, /may import no packages/],
    'the testing kit of a contract from product code': [
      'plugins/a/index.ts',
      `import 'mortise/contracts/other/testing';`,
      /may not use plugins\/other\/contract\/testing/,
    ],
    'a folder without a room': ['core/attic/a.ts', 'export {};', /belongs to no room/],
  };
  for (const [what, [file, text, reason]] of Object.entries(forbidden)) {
    it(`reports ${what}`, () => expect(verdict(file, text)).to.match(reason));
  }

  it('reports import cycles, also of types only', () => {
    write('plugins/a/b.ts', `import type { A } from './c.js';`);
    write('plugins/a/c.ts', `export * from './d.js';`);
    expect(verdict('plugins/a/d.ts', `import { b } from './b.js';`)).to.equal(
      'plugins/a/b.ts -> plugins/a/c.ts -> plugins/a/d.ts -> plugins/a/b.ts: a cycle',
    );
  });

  const allowed: Readonly<Record<string, readonly [file: string, text: string]>> = {
    'the sdk, by name and by path': ['core/kernel/a.ts', `import '../sdk/index.js';\nimport 'mortise/sdk';`],
    'everything for the composition': ['core/app/a.ts', `import '../kernel/kernel.js';\nimport '../http/server.js';`],
    'the testing kit for tests': ['plugins/a/test/a.test.ts', `import 'mortise/sdk/testing';\nimport '../index.js';`],
    'files of the same plugin': ['plugins/a/index.ts', `import './deep/b.js';`],
    'the contract of another plugin, by name': ['plugins/a/index.ts', `import 'mortise/contracts/other';`],
    'a contract from a contract': ['plugins/a/contract/index.ts', `import type {} from 'mortise/contracts/other';`],
    'its own contract': ['plugins/other/a.ts', `import './contract/index.js';\nimport 'mortise/contracts/other';`],
    'fakes of a contract in tests': ['plugins/a/test/a.test.ts', `import 'mortise/contracts/other/testing';`],
    'packages in the testing kit of a contract': ['plugins/a/contract/testing/a.ts', `import 'fast-check';`],
    'other packages and those of Node': ['plugins/a/index.ts', `import 'semver';\nimport 'node:fs';\nimport 'fs';`],
    'a socket client in tests': ['plugins/a/test/a.test.ts', `import { WebSocket } from 'ws';`],
    'types of knex in the database contract': ['core/sdk/host/database.ts', `import type { Knex } from 'knex';`],
    'the same, type by type': ['core/sdk/host/database.ts', `import { type Knex } from 'knex';`],
    'PostgreSQL for the testing kit': ['core/sdk/testing/a.ts', `import pg from 'pg';`],
    'the SDK of one plugin in that one': ['plugins/provider-openai/a.ts', `import 'openai/streaming';`],
    'augmenting the sdk from a plugin': [
      'plugins/a/a.ts',
      `declare module 'mortise/sdk' { interface Services { a: 1 } }`,
    ],
  };
  for (const [what, [file, text]] of Object.entries(allowed)) {
    it(`allows ${what}`, () => expect(verdict(file, text)).to.equal(''));
  }
});

describe('the check of feature names', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'mortise-names-'));
    write('schemas/mortise.schema.json', '{"x-env": ["MORTISE_SHARED"]}');
    write(
      'plugins/weather/config.schema.json',
      '{ "a": { "x-env": ["WEATHER_KEY", "MORTISE_SHARED"] }, "b": { "x-env": "WEATHER_UNIT" } }',
    );
    write(
      'plugins/weather/plugin.json',
      JSON.stringify({
        key: 'weather',
        provides: ['forecast'],
        opens: { station: {} },
        mounts: [{ name: 'wx' }],
        permissions: { schemas: ['climate'], routes: [{ path: '/wind/:place' }] },
      }),
    );
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  function verdict(text: string, allowed: readonly AllowedName[] = []): string {
    write('core/http/a.ts', text);
    return checkFeatureNames(root, allowed).join('\n');
  }

  for (const [what, text] of Object.entries({
    'plugin weather': `run('weather');`,
    'service forecast': `services.get('forecast');`,
    'point station': `const points = ['station'];`,
    'mount wx': `const mount = { name: 'wx' };`,
    'schema climate': `const schema = "climate";`,
    'schema climate ': `query('select * from {climate.days}');`,
    'route /wind': `fetch('/wind/here');`,
    'setting WEATHER_KEY': `read(process.env.WEATHER_KEY);`,
    'setting WEATHER_UNIT': `const text = 'Set WEATHER_UNIT.';`,
  })) {
    it(`reports the ${what}`, () => {
      expect(verdict(text)).to.equal(`core/http/a.ts:1 names the ${what.trim()} of a feature`);
    });
  }

  it('reports no comment, no longer word and no setting of the host', () => {
    expect(verdict(`// weather, /wind\nread('weathering', '/windows', process.env.MORTISE_SHARED);`)).to.equal('');
  });

  it('reports an allowed name that is not used', () => {
    const row = { name: 'weather', in: 'core/http/', reason: 'test' };
    expect(verdict(`run('weather');`, [row])).to.equal('');
    expect(verdict(`run();`, [row])).to.equal('core/http/ does not use weather: remove its row');
  });
});
