import type { PluginDefinition } from 'mortise/sdk';
import { auditChanges, auditPlatformChanges } from './audit-changes.js';
import { commandListRoute, commandRunRoute } from './command-routes.js';
import { eventsRoute } from './events-route.js';
import { configureRoute, exportRoute, toggleRoute } from './plugin-changes.js';
import { doctorRoute, inspectRoute, listRoute, planRoute, treeRoute } from './plugin-reads.js';
import { configRoute, metricsRoute } from './process-routes.js';

export default function admin(): PluginDefinition {
  return {
    key: 'admin',
    start(host) {
      const plugins = host.use('plugins');
      const settings = host.use('settings');
      const trail = host.watch('audit');
      const audit = auditChanges({
        audit: trail,
        log: host.log,
        plugins,
        every: (ms, run) => host.every(ms, run),
        instances: host.use('instances'),
      });
      host.on('platform-changed', (event) => auditPlatformChanges(event, trail));
      const changes = { host, plugins, audit };

      host.contribute('route', 'metrics', metricsRoute(host.use('metrics')));

      host.contribute('route', 'plugin-list', listRoute(plugins));
      host.contribute('route', 'plugin-inspect', inspectRoute(plugins));
      host.contribute('route', 'plugin-plan', planRoute(plugins));
      host.contribute('route', 'plugin-doctor', doctorRoute(plugins));
      host.contribute('route', 'plugin-tree', treeRoute(plugins));

      for (const action of ['enable', 'disable', 'restart', 'release'] as const) {
        host.contribute('route', `plugin-${action}`, toggleRoute(action, changes));
      }
      host.contribute('route', 'plugin-config', configureRoute('configure', changes));
      host.contribute('route', 'plugin-config-patch', configureRoute('patchConfig', changes));
      host.contribute('route', 'plugin-export', exportRoute(changes));

      host.contribute('route', 'command-list', commandListRoute(host.points));
      host.contribute(
        'route',
        'command-run',
        commandRunRoute(host.points, audit, host.use('http'), (refusal) => host.emit('refusal', refusal)),
      );

      host.contribute('route', 'config', configRoute(settings));
      host.contribute('route', 'events', eventsRoute(host));
    },
  };
}
