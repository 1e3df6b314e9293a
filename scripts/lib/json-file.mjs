import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * @param {string} path
 * @returns {any} undefined when the file is missing or not JSON
 */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Writes the file atomically.
 * @param {string} path
 * @param {unknown} value
 */
export function writeJson(path, value) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(value));
  renameSync(draft, path);
}
