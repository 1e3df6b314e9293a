import { mayConfigure, type PluginDefinition } from 'mortise/sdk';
import { selfOpsAudit } from './audit.js';
import { applyCommand, bootstrapCommand, modelCommand, previewCommand } from './commands.js';
import { selfOpsError } from './errors.js';
import { mutationTable } from './migrations/0001-mutations.js';
import { Documents } from './mutations/documents.js';
import { MutationStore } from './mutations/mutation-store.js';
import { applyRoute, bootstrapRoute, previewRoute, sessionModelRoute } from './routes.js';
import { selfOps } from './self-ops.js';
import { runSelfOps } from './tool.js';

const pruneEveryMs = 60 * 60_000;

/** Sessions that start themselves, models of sessions, and changes of the configuration in two steps. */
export default function selfOpsPlugin(): PluginDefinition {
  return {
    key: 'self-ops',
    async start(host) {
      const database = host.use('database');
      const schedule = host.use('schedule');
      await database.migrate([mutationTable]);
      const store = new MutationStore(database, host.use('secrets'));
      const ops = selfOps({
        database,
        schedule,
        store,
        turns: host.use('turns'),
        sessions: host.use('sessions'),
        models: host.use('models'),
        documents: new Documents(host.use('workspace-files'), host.use('model-settings')),
        audit: selfOpsAudit(host.use('audit')),
        checkRight({ principal, correlationId }, target) {
          // Prompts and model settings concern all users.
          if (mayConfigure(principal)) return;
          host.emit('refusal', { reason: 'forbidden', subject: principal.id, target, correlationId });
          throw selfOpsError('forbidden');
        },
      });
      host.every(pruneEveryMs, () => store.prune(schedule.now()));
      host.contribute('tool', 'self_ops', {
        ...host.facts('tool', 'self_ops'),
        run: (args, ctx) => runSelfOps(ops, args, ctx),
      });
      host.contribute('route', 'bootstrap-session', bootstrapRoute(ops));
      host.contribute('route', 'set-session-model', sessionModelRoute(ops));
      host.contribute('route', 'preview-mutation', previewRoute(ops));
      host.contribute('route', 'apply-mutation', applyRoute(ops));
      host.contribute('command', 'self-bootstrap', bootstrapCommand(host.facts('command', 'self-bootstrap'), ops));
      host.contribute('command', 'self-model', modelCommand(host.facts('command', 'self-model'), ops));
      host.contribute('command', 'self-preview', previewCommand(host.facts('command', 'self-preview'), ops));
      host.contribute('command', 'self-apply', applyCommand(host.facts('command', 'self-apply'), ops));
    },
  };
}
