import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { problem } from '../messages/plugin-problems.js';
import type { CatalogueEntry } from './catalogue.js';
import { codeVersion, passVersionsOn } from './code-version.js';
import { PluginProblem } from './plugin-problem.js';

/**
 * Loads the module of a plugin. A file that failed to parse would fail again at the same address after it was mended, so
 * dropped-in code is loaded under an address that carries the hash of all of it.
 *
 * @throws PluginProblem `entry_missing`, or whatever the module throws.
 */
export async function importEntry(entry: CatalogueEntry): Promise<unknown> {
  const file = entry.entry ?? '';
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new PluginProblem(problem('entry_missing', basename(file)));
  if (!found.isFile()) throw new PluginProblem(problem('entry_no_file', basename(file)));
  const url = pathToFileURL(file);
  if (entry.source === 'local' && entry.codeFolder) {
    passVersionsOn(entry.codeFolder);
    url.searchParams.set('v', await codeVersion(entry.codeFolder));
  }
  return import(url.href);
}
