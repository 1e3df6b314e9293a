import { join } from 'node:path';
import { ownFile, type PluginFolder, readCatalogue } from '../kernel/catalogue.js';
import { cacheValidators, createSchemaCompiler, loadSchema } from '../schema/index.js';
import { canonicalKey } from '../sdk/points/point.js';
import { openSettings } from '../settings/index.js';
import type { HostSettings, OpenedSettings, SettingsSource } from '../settings/types.js';

// Read by every command, so nothing here loads the database or the rest of the platform.

/** Reads the settings; validators compiled for them are cached in the project. */
export function openProjectSettings(source: SettingsSource): Promise<OpenedSettings> {
  cacheValidators(join(source.projectDir, '.runtime', 'validators'));
  return openSettings(source);
}

/** The folders in which plugins are installed. */
export function pluginFolders(
  { shippedPluginsDir, pluginsDir }: Pick<HostSettings, 'shippedPluginsDir' | 'pluginsDir'>,
  projectDir: string,
): readonly PluginFolder[] {
  return [
    { path: shippedPluginsDir, source: 'first-party', codePath: join(projectDir, 'dist', 'plugins') },
    { path: pluginsDir, source: 'local' },
    { path: join(pluginsDir, 'node_modules'), source: 'npm' },
  ];
}

/** Path of a module of an installed plugin; undefined when there is no such plugin or module inside its folder. */
export async function installedModule(source: SettingsSource, key: string, name: string): Promise<string | undefined> {
  const opened = await openProjectSettings(source);
  if (!opened.ok) throw opened.errors[0] ?? new Error('The settings cannot be read.');
  const folders = pluginFolders(opened.settings.host, source.projectDir);
  await opened.settings.dispose();
  const manifest = createSchemaCompiler().compile(await loadSchema(source.projectDir, 'plugin'), {
    name: 'plugin.json',
  });
  const entries = await readCatalogue(folders, (value) => manifest.check(value));
  const { codeFolder } = entries.find((entry) => canonicalKey(entry.key) === canonicalKey(key)) ?? {};
  return codeFolder === undefined ? undefined : ownFile(codeFolder, name);
}

/** Where the server of this project listens, and its keys, according to its settings. */
export interface ServerAddress {
  /** `http://127.0.0.1:8088` */
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
  /** Language of the command line; absent when the settings cannot be used. */
  readonly locale?: HostSettings['locale'];
}

const defaultPort = 8088;

/** Unusable settings give the defaults: the caller asks the server, or reports that it does not answer. */
export async function serverAddress(source: SettingsSource): Promise<ServerAddress> {
  const opened = await openProjectSettings(source);
  if (!opened.ok) return { base: `http://127.0.0.1:${defaultPort}`, apiKey: undefined, adminKey: undefined };
  try {
    const { locale, http } = opened.settings.host;
    const { host, port, apiKey, adminKey } = http;
    const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const shown = name.includes(':') ? `[${name}]` : name;
    return { base: `http://${shown}:${port === 0 ? defaultPort : port}`, apiKey, adminKey, locale };
  } finally {
    await opened.settings.dispose();
  }
}
