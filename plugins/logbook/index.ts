import type { PluginDefinition } from 'mortise/sdk';
import { createAudit } from './audit/audit-service.js';
import { createRefusalAudit, type RefusalAudit } from './audit/refusals.js';
import { createLogbook } from './create-logbook.js';
import { migrations } from './migrations/index.js';

const REFUSALS_EVERY_MS = 1_000;

/** Users, policy settings, the memory ledger, the outbox and the audit trail, as the services `logbook` and `audit`. */
export default function logbook(): PluginDefinition {
  let refusals: RefusalAudit | undefined;
  return {
    key: 'logbook',
    async start(host) {
      const database = host.use('database');
      await database.migrate(migrations);

      const rows = host.use('metrics').counter('mortise_audit_rows_total', 'Audit rows by action.', ['action']);
      const audit = createAudit({
        database,
        instanceId: host.use('instances').id,
        committed: (event) => {
          rows.add(1, { action: event.action });
          host.emit('audit', event);
        },
      });
      host.provide('audit', audit);
      const logbook = createLogbook(database);
      host.provide('logbook', logbook);
      // A key vouches for the actor it is bound to; existing users are not changed.
      for (const actor of host.use('http').actors) await logbook.users.add(actor);

      const refused = createRefusalAudit(audit, host.log);
      refusals = refused;
      host.on('refusal', (refusal) => refused.add(refusal));
      host.every(REFUSALS_EVERY_MS, () => refused.flush());
    },
    async stop() {
      await refusals?.flush(true);
    },
  };
}
