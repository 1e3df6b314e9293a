import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readSmallFile } from './read-json.js';

/** Files of one plugin that are looked at; each costs a process of some 40 ms. */
const filesLookedAt = 25;

/**
 * Where a plugin's JavaScript has a syntax error: `lib/index.js:4`. Node tells that only to someone who looks at the
 * screen: the error that an import throws names neither file nor line.
 */
export async function syntaxPlace(entry: string, codeFolder: string): Promise<string | undefined> {
  const found = await readdir(codeFolder, { recursive: true }).catch(() => []);
  const others = found
    .filter((name) => /\.m?js$/.test(name) && !name.split(/[\\/]/).includes('node_modules'))
    .map((name) => join(codeFolder, name));
  for (const file of [...new Set([entry, ...others])].slice(0, filesLookedAt)) {
    const line = /\.m?js$/.test(file) ? await wrongLine(file) : undefined;
    if (line !== undefined) return `${relative(codeFolder, file)}:${line}`;
  }
  return undefined;
}

async function wrongLine(file: string): Promise<string | undefined> {
  const source = await readSmallFile(file).catch(() => undefined);
  if (source === undefined) return undefined;
  return new Promise((resolve) => {
    const options = { env: {}, timeout: 5_000 };
    const check = execFile(process.execPath, ['--check', '--input-type=module', '-'], options, (_error, _out, errors) =>
      resolve(/^\[stdin\]:(\d+)/m.exec(errors)?.[1]),
    );
    // The check may have ended before it read everything.
    check.stdin?.on('error', () => undefined).end(source);
  });
}
