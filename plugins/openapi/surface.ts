import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { surfaceFile } from 'mortise/contracts/openapi';
import { stringify } from 'yaml';
import { joinParts, type PluginPart, partOf } from './join-parts.js';

/** The description of every plugin of a checkout, enabled or not, as YAML. */
export function surfaceText(checkout: string): string {
  const folder = join(checkout, 'plugins');
  const read = (key: string, file: string) => readFileSync(join(folder, key, file), 'utf8');
  const parts = readdirSync(folder)
    .filter((key) => existsSync(join(folder, key, 'plugin.json')))
    .map((key): PluginPart => {
      const hasPart = existsSync(join(folder, key, 'openapi.yaml'));
      const part = hasPart ? partOf(read(key, 'openapi.yaml')) : {};
      return { manifest: JSON.parse(read(key, 'plugin.json')) as PluginPart['manifest'], part };
    });
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };
  const description = joinParts(partOf(read('openapi', 'base.yaml')), parts, version);
  const note = '# Generated from plugins/*/openapi.yaml and plugin.json by `npm run generate`. Do not edit.\n';
  return note + stringify(description, { lineWidth: 120, aliasDuplicateObjects: false });
}

if (import.meta.filename === process.argv[1]) {
  const checkout = join(import.meta.dirname, '..', '..', '..');
  writeFileSync(join(checkout, surfaceFile), surfaceText(checkout));
}
