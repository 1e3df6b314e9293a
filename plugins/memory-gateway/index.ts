import { type PluginDefinition, whenServing } from 'mortise/sdk';
import { unknownBackend, warnOfUnknownBackend } from './backend/unknown-backend.js';
import { contributeCommands } from './commands/contribute-commands.js';
import type { Config } from './config.generated.js';
import { createGateway } from './create-gateway.js';
import { updateGovernance } from './governance/update-governance.js';
import type { GatewayParts } from './parts.js';
import { queryMemories } from './query/query-memories.js';
import { probeBackend } from './recovery/probe-backend.js';
import { recoverQuietly } from './recovery/recover-quietly.js';
import { reliabilityReport } from './report.js';
import { auditRoute } from './rest/audit-route.js';
import { governanceRoute } from './rest/governance-route.js';
import { healthRoute } from './rest/health-route.js';
import { queryRoute } from './rest/query-route.js';
import { checkedTool } from './rest/read-body.js';
import { reportRoute } from './rest/report-route.js';
import { storeRoute } from './rest/store-route.js';
import { storeMemory } from './store/store-memory.js';

const PROBE_EVERY_MS = 5_000;
const RECOVER_EVERY_MS = 15_000;

/** The tools `memory_store`, `memory_query`, `reliability_report` and `governance_update`, and the same over REST. */
export default function memoryGateway(): PluginDefinition<Config> {
  let gateway: GatewayParts | undefined;
  return {
    key: 'memory-gateway',
    register() {},
    start(host) {
      const parts = createGateway(host);
      gateway = parts;
      host.provide('memory', parts.backend);

      const store = host.facts('tool', 'memory_store');
      const query = host.facts('tool', 'memory_query');
      const report = host.facts('tool', 'reliability_report');
      host.contribute('tool', 'memory_store', { ...store, run: (args, ctx) => storeMemory(args, ctx, parts) });
      host.contribute('tool', 'memory_query', { ...query, run: (args, ctx) => queryMemories(args, ctx, parts) });
      host.contribute('tool', 'reliability_report', {
        ...report,
        run: (_args, ctx) => reliabilityReport(ctx.correlationId, parts),
      });

      const governance = host.facts('tool', 'governance_update');
      host.contribute('tool', 'governance_update', {
        ...governance,
        run: (args, ctx) => updateGovernance(args, ctx, parts),
      });

      const schemas = host.use('schemas');
      host.contribute('route', 'memory-health', healthRoute(parts));
      host.contribute('route', 'memory-store', storeRoute(parts, checkedTool('memory_store', store, schemas)));
      host.contribute('route', 'memory-query', queryRoute(parts, checkedTool('memory_query', query, schemas)));
      host.contribute('route', 'reliability-report', reportRoute(parts));
      host.contribute('route', 'memory-audit', auditRoute(parts));
      host.contribute(
        'route',
        'governance-update',
        governanceRoute(parts, checkedTool('governance_update', governance, schemas)),
      );

      contributeCommands(host, parts);

      const recover = () => recoverQuietly(parts, host.signal);
      host.every(PROBE_EVERY_MS, (signal) => probeBackend(parts, signal));
      whenServing(host, host.use('http'), () => {
        // Not before: a backend may start after the gateway.
        warnOfUnknownBackend(host, parts.backend.backend);
        host.every(RECOVER_EVERY_MS, recover);
        return recover();
      });
    },
    health() {
      const missing = gateway && unknownBackend(gateway.points, gateway.backend.backend);
      return missing === undefined ? { ok: true } : { ok: false, detail: missing };
    },
    async stop() {
      await gateway?.writer.idle();
      await gateway?.settlements.idle();
    },
  };
}
