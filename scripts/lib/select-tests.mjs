import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listSources } from './sources.mjs';

/** Tests that start builds: they run sequentially after all others. */
const alone = /^dist\/test\/launcher\//;

/** Tests of memories, and those that stop and start a memory backend or the worker that delivers to it. */
const gateway = [
  /^dist\/plugins\/(logbook|logbook-tools|mcp-[^/]+|memory-[^/]+|evidence-store|text-analysis)\/test\//,
  /^dist\/test\/(memory|conformance)\//,
];
const backend = [
  /^dist\/plugins\/memory-(backend-openmemory|outbox|reconcile)\/test\//,
  /^dist\/plugins\/memory-gateway\/test\/remote\//,
  /^dist\/test\/memory\/remote\//,
];

/** @param {string} file */
export const runsAlone = (file) => alone.test(file);

/** @param {string} file */
export const isGatewayTest = (file) => gateway.some((pattern) => pattern.test(file));

/** @param {string} file */
export const isBackendTest = (file) => backend.some((pattern) => pattern.test(file));

/**
 * The compiled test files, relative to the root, without fixtures.
 * @param {string} root
 */
export function listTests(root) {
  const folders = ['core', 'plugins', 'scripts', 'test'].map((folder) => `dist/${folder}`);
  return listSources(root, {
    folders,
    files: [],
    fits: (name) => name.endsWith('.test.js'),
    skip: new Set(['fixtures', 'node_modules']),
  })
    .filter((path) => path.slice('dist'.length).includes('/test/'))
    .sort();
}

/**
 * Tests that `npm run test:long` repeats more often: those that ask for their number of rounds, and properties.
 * @param {string} root
 */
export const hasLongRounds = (root) => (/** @type {string} */ file) =>
  /\brounds\(|from 'fast-check'/.test(readFileSync(join(root, file), 'utf8'));

/** Code that opens a database or a port, or starts a process. */
const opens = new RegExp(
  [
    String.raw`\b(openDatabase|sqliteEngine|postgresEngine|openApp|fetch|listen|createServer)\(`,
    String.raw`\b(spawn|spawnSync|fork|execFile|execFileSync)\(`,
    `(from|import) '(node:(net|http|child_process|worker_threads)|better-sqlite3|pg|undici|ws)'`,
  ].join('|'),
);
/** Exports of the testing entries of the SDK and of contracts that need neither. */
const pureHelpers = new Set(['memoryItem', 'rounds', 'seededRandom', 'silentLog', 'until', 'wait', 'waitFor']);
const testingImports = /import \{([^}]*)\} from 'mortise\/[^']*testing'/g;
const relativeImports = /(?:from|import) '(\.[^']+)'/g;

/**
 * Whether a test file and its helpers, the modules that it imports from `test` and `testing` folders, open no database and no port and
 * start no process. Tests that it misjudges fail at run time: see no-network.mjs.
 * @param {string} root
 */
export function unitTestFilter(root) {
  /** @type {Map<string, boolean>} */
  const known = new Map();
  /** @param {string} file @returns {boolean} */
  const isPure = (file) => {
    const before = known.get(file);
    if (before !== undefined) return before;
    // Helpers may import each other.
    known.set(file, true);
    const text = readFileSync(join(root, file), 'utf8');
    const helpers = [...text.matchAll(relativeImports)]
      .map(([, path]) => join(dirname(file), String(path)))
      .filter((path) => /\/(test|testing|scripts)\//.test(path));
    const names = [...text.matchAll(testingImports)].flatMap(([, list = '']) =>
      list.split(',').map((name) => name.trim()),
    );
    const pure = !opens.test(text) && names.every((name) => pureHelpers.has(name)) && helpers.every(isPure);
    known.set(file, pure);
    return pure;
  };
  return isPure;
}
