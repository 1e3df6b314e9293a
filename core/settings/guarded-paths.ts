import { dirname, join } from 'node:path';
import type { GuardedPaths } from '../sdk/index.js';
import type { HostSettings } from './types.js';

/** What file tools must keep away from: the platform does not let a model read its data or change itself. */
export function guardedPaths(host: HostSettings, envFile: string, secretsFile: string): GuardedPaths {
  const database = host.database.dialect === 'sqlite' ? [host.database.file] : [];
  return Object.freeze({
    hidden: [host.dataDir, ...database, envFile, secretsFile],
    readOnly: [
      host.configDir,
      host.pluginsFile,
      host.shippedPluginsDir,
      host.pluginsDir,
      join(host.projectDir, 'dist'),
      join(host.projectDir, '.runtime'),
      join(host.projectDir, 'node_modules'),
      join(dirname(host.shippedPluginsDir), 'core'),
      join(host.projectDir, 'schemas'),
    ],
  });
}
