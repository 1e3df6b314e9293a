/** Settings: the environment, the configuration files, `plugins.json` and secrets. */
export { aliasOf } from './environment.js';
export { openSettings } from './open-settings.js';
export { openPluginsFile, type PluginsFileOptions } from './plugins-file.js';
export type * from './types.js';
