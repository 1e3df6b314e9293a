import type { PluginDefinition } from 'mortise/sdk';
import { descriptionRoute } from './description-route.js';

/** Describes the routes of the active plugins in OpenAPI 3.1. */
export default function openapi(): PluginDefinition {
  return {
    key: 'openapi',
    start(host) {
      const route = descriptionRoute({
        plugins: host.use('plugins'),
        version: host.use('settings').version,
        folder: host.use('files').pluginFolder,
        log: host.log,
        onToggle: (run) => host.on('plugin-state', run),
      });
      host.contribute('route', 'openapi', route);
    },
  };
}
