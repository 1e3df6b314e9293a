import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from './json-file.mjs';

/** @param {string} root */
const stampFile = (root) => join(root, 'node_modules', '.mortise-installed.json');

/** @param {string} root */
const lockfile = (root) => readFileSync(join(root, 'package-lock.json'));

/** @param {Buffer} locked */
function wanted(locked) {
  return {
    lockfile: createHash('sha256').update(locked).digest('hex'),
    // Native packages depend on the platform: a node_modules copied from another machine does not count.
    platform: process.platform,
    arch: process.arch,
  };
}

/**
 * Whether every locked package is installed: one may have been removed, or a copy was interrupted.
 * @param {string} root
 * @param {Buffer} locked
 */
function isComplete(root, locked) {
  const { packages } = JSON.parse(locked.toString());
  return Object.entries(packages).every(
    ([path, { optional, link }]) => path === '' || optional || link || existsSync(join(root, path, 'package.json')),
  );
}

/**
 * Whether node_modules matches package-lock.json.
 * @param {string} root
 */
export function dependenciesCurrent(root) {
  // A linked node_modules belongs to another checkout: it is used unchanged and never installed into.
  if (isLink(join(root, 'node_modules'))) return existsSync(join(root, 'node_modules'));
  const stamp = readJson(stampFile(root));
  const locked = lockfile(root);
  const now = wanted(locked);
  const isSame = stamp?.lockfile === now.lockfile && stamp.platform === now.platform && stamp.arch === now.arch;
  return isSame && isComplete(root, locked);
}

/**
 * Installs the locked dependencies, unless a manual npm install already has.
 * @param {string} root
 * @param {(args: string[], options: { what: string, node: string }) => Promise<void>} npm
 * @param {{ node: string, step: (work: () => Promise<void>) => Promise<void> }} options
 */
export async function installDependencies(root, npm, { node, step }) {
  const locked = lockfile(root);
  if (!installedByHand(root) || !isComplete(root, locked)) {
    // A dangling link would block npm.
    if (isLink(join(root, 'node_modules'))) rmSync(join(root, 'node_modules'));
    // dev and optional are explicit because NODE_ENV=production or npm settings could omit the compiler and native packages.
    const args = ['ci', '--prefix', root, '--ignore-scripts', '--include=dev', '--include=optional'];
    await step(() => npm(args, { what: 'The dependencies', node }));
  }
  writeJson(stampFile(root), wanted(locked));
}

/**
 * Compares the lockfile with the one that npm keeps inside node_modules and writes last.
 * @param {string} root
 */
function installedByHand(root) {
  const installed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages;
  const locked = readJson(join(root, 'package-lock.json'))?.packages;
  if (!installed || !locked) return false;
  const foreign = Object.values(installed).some(
    (entry) => !allows(entry.os, process.platform) || !allows(entry.cpu, process.arch),
  );
  if (foreign) return false;
  return Object.entries(locked).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    if (!found)
      return entry.optional === true && !(allows(entry.os, process.platform) && allows(entry.cpu, process.arch));
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/**
 * @param {string[] | undefined} names as npm writes them: absent for all, `!name` for all but one
 * @param {string} name
 */
function allows(names, name) {
  if (!names) return true;
  return names.some((one) => one.startsWith('!')) ? !names.includes(`!${name}`) : names.includes(name);
}

/** @param {string} path */
function isLink(path) {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}
