import { readFile } from 'node:fs/promises';

/** Reads a JSON file; a byte order mark, which some editors write, is no part of it. */
export async function readJson(path: string): Promise<unknown> {
  return parseJson(await readFile(path, 'utf8'));
}

export function parseJson(text: string): unknown {
  return JSON.parse(text.replace(/^\uFEFF/, ''));
}
