import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The record of a file: size, times of content and of inode in milliseconds, SHA-256 of the content.
 * @typedef {[size: number, modified: number, changed: number, hash: string]} Entry
 */

/**
 * File systems round times, and a file may be written twice within one tick: a file modified within this time before it was
 * recorded is read again the next time, in milliseconds.
 */
const settledAfter = 2_000;

/**
 * Lists matching files below some folders, and single files, relative to the root, with forward slashes.
 * @param {string} root
 * @param {{ folders: readonly string[], files: readonly string[], fits: (name: string) => boolean,
 *   skip: ReadonlySet<string> }} selection `skip`: folders left out, by name or by path
 */
export function listSources(root, { folders, files, fits, skip }) {
  /** @type {string[]} */
  const found = [...files];
  /** @param {string} folder */
  const walk = (folder) => {
    for (const entry of entries(join(root, folder))) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!skip.has(entry.name) && !skip.has(path)) walk(path);
      } else if (fits(entry.name)) found.push(path);
    }
  };
  for (const folder of folders) if (!skip.has(folder)) walk(folder);
  return found;
}

/** @param {string} folder */
function entries(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Compares files with their records. Only files whose size or times differ are read; the
 * ctime is compared too because only the clock can set it, so copied or restored times do not hide a change.
 * @param {string} root
 * @param {readonly string[]} paths
 * @param {Readonly<Record<string, Entry>>} remembered
 * @param {number} [now] milliseconds
 * @returns {{ changed: boolean, touched: boolean, entries: Record<string, Entry> }} changed: some content differs, or a
 *   file was added or removed; touched: the records should be saved again
 */
export function compareSources(root, paths, remembered, now = Date.now()) {
  /** @type {Record<string, Entry>} */
  const entries = {};
  let changed = Object.keys(remembered).length !== paths.length;
  let touched = changed;
  for (const path of paths) {
    const { size = 0, mtimeMs = 0, ctimeMs = 0 } = statSync(join(root, path), { throwIfNoEntry: false }) ?? {};
    const before = remembered[path];
    if (before && before[0] === size && before[1] === mtimeMs && before[2] === ctimeMs) {
      entries[path] = before;
      continue;
    }
    const hash = hashOf(join(root, path));
    const settled = now - Math.max(mtimeMs, ctimeMs) > settledAfter;
    // Unsettled times are recorded as 0, which matches no file.
    entries[path] = settled ? [size, mtimeMs, ctimeMs, hash] : [size, 0, 0, hash];
    touched = true;
    if (before?.[3] !== hash) changed = true;
  }
  return { changed, touched, entries };
}

/**
 * @param {string} path
 * @returns {string} SHA-256 of the content; empty for a file that was removed since it was listed
 */
function hashOf(path) {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}
