import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const { resolve } = createRequire(import.meta.url);

/** The script that an installed package runs as the command `name`. */
export function packageProgram(packageName: string, name: string): string {
  const facts = resolve(`${packageName}/package.json`);
  const { bin } = JSON.parse(readFileSync(facts, 'utf8')) as { readonly bin: Readonly<Record<string, string>> };
  const script = bin[name];
  if (script === undefined) throw new Error(`${packageName} has no command "${name}".`);
  return join(dirname(facts), script);
}
