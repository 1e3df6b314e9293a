import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonSchema } from './types.js';

/** Reads `schemas/<name>.schema.json` of the project: `plugin`, `plugins`, `mortise`. */
export async function loadSchema(projectDir: string, name: string): Promise<JsonSchema> {
  return JSON.parse(await readFile(join(projectDir, 'schemas', `${name}.schema.json`), 'utf8')) as JsonSchema;
}
