import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkout } from '../launcher/modules.js';

interface SettingsPage {
  readonly settingsPage: string;
  settingsPageText(checkout: string): string;
}

const { settingsPage, settingsPageText } = (await import(
  new URL('../../../scripts/lib/settings-page.mjs', import.meta.url).href
)) as SettingsPage;

/** Every name that an `x-env`, `env` or `pollEnv` of a schema holds. */
function variablesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    ['x-env', 'env', 'pollEnv'].includes(name) && (typeof member === 'string' || Array.isArray(member))
      ? [member].flat()
      : variablesIn(member),
  );
}

describe('the settings page', () => {
  const text = readFileSync(join(checkout, settingsPage), 'utf8');

  it('matches the schemas; `npm run generate` writes it', () => {
    const made = settingsPageText(checkout);
    const shipped = JSON.parse(readFileSync(join(checkout, 'plugins.json'), 'utf8')) as { readonly plugins: object };
    const isDeleted = (key: string): boolean => !existsSync(join(checkout, 'plugins', key, 'plugin.json'));
    // The page has an additional section for each deleted plugin.
    if (Object.keys(shipped.plugins).some(isDeleted))
      for (const part of made.split(/^(?=#{2,3} )/m)) expect(text).to.include(part);
    else expect(text).to.equal(made);
  });

  it('names every variable that sets a setting', () => {
    const schemas = [
      join('schemas', 'mortise.schema.json'),
      ...readdirSync(join(checkout, 'plugins'))
        .filter((key) => existsSync(join(checkout, 'plugins', key, 'plugin.json')))
        .map((key) => join('plugins', key, 'config.schema.json')),
    ];
    for (const path of schemas) {
      let schema: unknown;
      try {
        schema = JSON.parse(readFileSync(join(checkout, path), 'utf8'));
      } catch {
        continue;
      }
      for (const name of variablesIn(schema)) expect(text, `${name} of ${path}`).to.include(`\`${name}\``);
    }
  });
});
