// Writes the generated files: plugins/<key>/config.generated.ts from config.schema.json, and the settings page.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configTypes } from './lib/config-types.mjs';
import { settingsPage, settingsPageText } from './lib/settings-page.mjs';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
for (const { path, text } of await configTypes(checkout)) writeFileSync(join(checkout, path), text);
writeFileSync(join(checkout, settingsPage), settingsPageText(checkout));
