import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import * as nodeModule from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const codeFiles = new Set(['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json']);

/** Addresses of plugin folders whose modules carry a version, with the slash after them. */
const versioned = new Set<string>();
let hooked = false;

/** A hash over all code of a plugin; packages that it brings are not looked into. */
export async function codeVersion(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await filesBelow(folder)).sort()) {
    hash.update(`${file}\0`);
    hash.update(await readFile(join(folder, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Lets the modules that a plugin imports from its own folder carry the version of the one that imports them: else the
 * process would keep an old or broken copy of them for ever. On Node before 22.15 only the entry carries one.
 */
export function passVersionsOn(folder: string): void {
  versioned.add(`${pathToFileURL(folder).href}/`);
  if (hooked || typeof nodeModule.registerHooks !== 'function') return;
  hooked = true;
  nodeModule.registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      const { parentURL } = context;
      const version = parentURL && versionOf(parentURL);
      if (!version || found.url.includes('?')) return found;
      const own = [...versioned].some(
        (one) => parentURL.startsWith(one) && found.url.startsWith(one) && !found.url.includes('/node_modules/'),
      );
      return own ? { ...found, url: `${found.url}?v=${version}` } : found;
    },
  });
}

function versionOf(url: string): string | undefined {
  return /\?v=([0-9a-f]{16})$/.exec(url)?.[1];
}

async function filesBelow(folder: string, below = ''): Promise<string[]> {
  const items = await readdir(join(folder, below), { withFileTypes: true });
  const found = await Promise.all(
    items.map((item) => {
      const path = join(below, item.name);
      if (item.isDirectory()) return item.name === 'node_modules' ? [] : filesBelow(folder, path);
      return item.isFile() && codeFiles.has(extname(item.name)) ? [path] : [];
    }),
  );
  return found.flat();
}
