import { type PluginDefinition, platformPrincipal, whenServing } from 'mortise/sdk';
import { probeBackend, warnOfMissingBackend } from './backend/backend-client.js';
import { commands } from './commands.js';
import type { Config } from './config.generated.js';
import { createGateway, type Gateway } from './gateway.js';
import { updateGovernance } from './governance/update-governance.js';
import { queryMemories } from './query/query-memories.js';
import { reliabilityReport, reportRoute } from './report.js';
import { auditRoute } from './rest/audit-route.js';
import { healthRoute, pluginHealth } from './rest/health-route.js';
import { checkedTool } from './rest/read-body.js';
import { governanceRoute, queryRoute, storeRoute } from './rest/tool-routes.js';
import { storeMemory } from './store/store-memory.js';
import { recoverInBackground } from './write/recover-writes.js';

const PROBE_EVERY_MS = 5_000;
const RECOVER_EVERY_MS = 15_000;

/** The tools `memory_store`, `memory_query`, `reliability_report` and `governance_update`, also over REST and the CLI. */
export default function memoryGateway(): PluginDefinition<Config> {
  let gateway: Gateway | undefined;
  return {
    key: 'memory-gateway',
    start(host) {
      const started = createGateway(host);
      gateway = started;
      host.provide('memory', started.backend);

      const store = host.facts('tool', 'memory_store');
      const query = host.facts('tool', 'memory_query');
      const governance = host.facts('tool', 'governance_update');
      const report = host.facts('tool', 'reliability_report');
      host.contribute('tool', 'memory_store', { ...store, run: (args, ctx) => storeMemory(args, ctx, started) });
      host.contribute('tool', 'memory_query', { ...query, run: (args, ctx) => queryMemories(args, ctx, started) });
      host.contribute('tool', 'governance_update', {
        ...governance,
        run: (args, ctx) => updateGovernance(args, ctx, started),
      });
      host.contribute('tool', 'reliability_report', {
        ...report,
        run: (_args, ctx) => reliabilityReport(ctx.correlationId, started),
      });

      const schemas = host.use('schemas');
      host.contribute('route', 'memory-health', healthRoute(started));
      host.contribute('route', 'memory-store', storeRoute(checkedTool('memory_store', store, schemas), started));
      host.contribute('route', 'memory-query', queryRoute(checkedTool('memory_query', query, schemas), started));
      host.contribute(
        'route',
        'governance-update',
        governanceRoute(checkedTool('governance_update', governance, schemas), started),
      );
      host.contribute('route', 'reliability-report', reportRoute(started));
      host.contribute('route', 'memory-audit', auditRoute(started));

      for (const [key, create] of Object.entries(commands)) {
        host.contribute('command', key, create(host.facts('command', key), started));
      }

      host.every(PROBE_EVERY_MS, (signal) => probeBackend(started, signal));
      whenServing(host, host.use('http'), () => {
        // Not before serving: a backend may start after the gateway.
        warnOfMissingBackend(host, started.backend.backend);
        const recover = () => recoverInBackground(started, host.signal);
        host.every(RECOVER_EVERY_MS, recover);
        return recover();
      });
    },
    health: async (signal) =>
      gateway ? pluginHealth(gateway, { signal, principal: platformPrincipal }) : { ok: true },
    async stop() {
      await gateway?.writer.idle();
      await gateway?.settlements.idle();
    },
  };
}
