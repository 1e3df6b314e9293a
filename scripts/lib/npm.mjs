import { accessSync, appendFileSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Failure } from './failure.mjs';
import { runChild } from './run-child.mjs';
import { environmentWith } from './runtime.mjs';

// By default npm reports a missing network after up to 70 s; these settings reduce it to about 13 s.
const retries = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-factor=3'];
const quiet = [
  '--no-audit',
  '--no-fund',
  '--no-progress',
  '--no-update-notifier',
  '--loglevel=error',
  '--prefer-offline',
];

/**
 * Runs npm for the set-up: its output goes to a log file, its errors become a Failure.
 * @param {string} root
 * @param {{ interrupts: ReturnType<typeof import('./interrupts.mjs').watchInterrupts>,
 *   onWorker?: (pid: number | undefined) => void }} options
 */
export function createNpm(root, { interrupts, onWorker }) {
  const log = join(root, '.runtime', 'setup.log');
  /**
   * @param {string[]} args
   * @param {{ what: string, node: string }} options description of what is installed; the Node to run npm on
   */
  return async function npm(args, { what, node }) {
    const { command, first, shell } = locateNpm(node);
    const result = await runChild(command, [...first, ...args, ...cacheOptions(root), ...retries, ...quiet], {
      cwd: root,
      env: environmentWith(node),
      shell,
      interrupts,
      onStart: onWorker,
    }).catch((error) => {
      throw error.code === 'ENOENT' ? new Failure('npm_missing') : error;
    });
    try {
      mkdirSync(dirname(log), { recursive: true });
      appendFileSync(log, `$ npm ${args.join(' ')}\n${result.output}\n`);
    } catch {
      // Only the log is lost; the Failure reports the cause.
    }
    if (result.code !== 0) throw explain(result, { what, log, root });
  };
}

/**
 * npm's cache below `.runtime` where the home folder cannot be written: containers run with user ids that own no home.
 * @param {string} root
 * @returns {string[]}
 */
export function cacheOptions(root, environment = process.env, home = homedir()) {
  if (Object.keys(environment).some((name) => name.toLowerCase() === 'npm_config_cache')) return [];
  const cache = join(home, process.platform === 'win32' ? 'AppData/Local/npm-cache' : '.npm');
  try {
    mkdirSync(cache, { recursive: true });
    accessSync(cache, constants.W_OK);
    return [];
  } catch {
    return [`--cache=${join(root, '.runtime', 'npm-cache')}`];
  }
}

/**
 * Locates npm's script to run it on the given Node; otherwise the `npm` on the PATH is used.
 * @param {string} node
 */
function locateNpm(node) {
  const nodeFolder = dirname(process.execPath);
  const scripts = [
    process.env.npm_execpath,
    join(nodeFolder, 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(nodeFolder, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  // npm_execpath may also name another package manager.
  const script = scripts.find((path) => path && basename(path) === 'npm-cli.js' && existsSync(path));
  if (script) return { command: node, first: [script], shell: false };
  const windows = process.platform === 'win32';
  return { command: windows ? 'npm.cmd' : 'npm', first: [], shell: windows };
}

const unreachable =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED|UND_ERR_\w+)\b/;
const untrusted = /\b(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+|CERT_\w+)\b/;

/**
 * Converts npm's output into one of the launcher's messages.
 * @param {{ code: number | null, signal: string | null, output: string }} result
 * @param {{ what: string, log: string, root: string }} context
 * @returns {Failure | Error}
 */
export function explain({ code, signal, output }, { what, log, root }) {
  const first = output.match(/^npm (?:error|ERR!) (?!code\b)(.+)$/m)?.[1]?.trim();
  const npmCode = output.match(/^npm (?:error|ERR!) code (\S+)/m)?.[1] ?? '';
  if (npmCode === 'ENOSPC') return new Failure('disk_full', { what });
  if (['EACCES', 'EPERM', 'EROFS'].includes(npmCode)) {
    const path = output.match(/^npm (?:error|ERR!) path (.+)$/m)?.[1]?.trim();
    return new Failure('not_writable', { path: path ?? root });
  }
  if (npmCode === 'EUSAGE') return new Failure('lockfile_differs');
  if (npmCode === 'E404' || npmCode === 'ETARGET') {
    return Object.assign(new Failure('install_failed', { what, reason: first ?? npmCode, log }), {
      code: 'package_missing',
    });
  }
  const reason = output.match(untrusted)?.[1];
  if (reason) return new Failure('certificate', { what, reason });
  const cause = output.match(unreachable)?.[1];
  if (cause) return new Failure('network', { what, reason: cause });
  return new Failure('install_failed', {
    what,
    reason: first ?? (signal ? `npm was ended by ${signal}` : `npm ended with ${code}`),
    log,
  });
}
