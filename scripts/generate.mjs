// Writes the generated files: config.generated.ts of each plugin from its config.schema.json, the settings page, and, while
// there is the plugin that joins them, schemas/openapi.yaml from plugins/*/openapi.yaml.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configTypes } from './lib/config-types.mjs';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { runCompiled } from './lib/run-product.mjs';
import { settingsPage, settingsPageText } from './lib/settings-page.mjs';

for (const { path, text } of await configTypes(projectRoot)) writeFileSync(join(projectRoot, path), text);
writeFileSync(join(projectRoot, settingsPage), settingsPageText(projectRoot));
if (existsSync(join(projectRoot, 'plugins/openapi/surface.ts')))
  runEntry(() => runCompiled(projectRoot, 'dist/plugins/openapi/surface.js', []));
