import type { ConversationService } from 'mortise/contracts/conversation';
import type { GateControl } from 'mortise/contracts/gate';
import { type Alert, type Observation, type ObservationInput, platformPrincipal, type StartHost } from 'mortise/sdk';
import { continueTrace } from './cause.js';
import type { Config } from './config.generated.js';
import type { ControlEntry } from './control-entry.js';
import { ControlStore } from './control-store.js';
import { controlAuditTable } from './migrations/0001-control-audit.js';
import { overlaysTable } from './migrations/0002-overlays.js';
import { Nociception } from './nociception.js';
import { lookEveryMs, SharedOverlays } from './shared-overlays.js';
import { SystemReflex } from './system-reflex.js';

export interface RunningReflex {
  readonly conversation: ConversationService;
  readonly gate: GateControl;
  readonly reflex: SystemReflex;
  readonly nociception: Nociception;
  /** Audits an operator's action, also in the platform's audit trail when there is one. */
  readonly audit: (entry: Partial<ControlEntry> & Pick<ControlEntry, 'action' | 'accepted'>) => void;
  /** Whether another change can be audited. */
  readonly room: () => boolean;
  /** Handles alerts and ticks. */
  readonly handlePain: (observation: Observation) => void;
  /** Runs a handler; an exception becomes an alert. */
  readonly guarded: (run: () => void) => void;
  close(): Promise<void>;
}

const alertOf = (code: string, severity: Alert['severity'], message: string): Alert => ({
  source: 'system:reflex',
  severity,
  code,
  message,
});

/** Composes the reflex: overrides with their store, nociception, metrics and audit. */
export async function startReflex(host: StartHost<Config>): Promise<RunningReflex> {
  const database = host.use('database');
  const schedule = host.use('schedule');
  const conversation = host.use('conversation');
  const gate = host.use('gate-control');
  const trail = host.watch('audit');
  await database.migrate([controlAuditTable, overlaysTable]);
  const shared = database.dialect === 'postgres' || host.config.persistence === 'sql';
  const databaseFailed = (error: unknown): void => {
    const name = error instanceof Error ? error.name : 'error';
    host.log.warn({ error: name }, 'changes of the gate are queued until the database is available');
  };
  const store = new ControlStore({
    database,
    shared,
    monotonic: () => schedule.monotonic(),
    failed: databaseFailed,
    overlaysWritten: () => void overlays.look(),
  });
  const metrics = host.use('metrics');
  const inputs = metrics.counter('mortise_reflex_changes_total', 'Changes of the gate, accepted or not', [
    'action',
    'accepted',
  ]);
  const pain = metrics.counter('mortise_pain_total', 'Pain alerts', ['source', 'severity']);
  const overloads = metrics.counter('mortise_reflex_overload_total', 'Ticks with too many drops');
  const monotonic = () => schedule.monotonic();
  const now = () => schedule.now();
  const publish = (observation: ObservationInput): void =>
    void conversation.publish(observation, { principal: platformPrincipal });
  const reflex = new SystemReflex({
    gate,
    store: {
      room: (rows) => store.room(rows),
      pending: (overlay) => store.pending(overlay),
      add: (write) => {
        store.add(write);
        for (const entry of write.entries) if (entry.action.startsWith('admin_')) writeTrail(entry);
      },
    },
    publish: (cause, observation) => publish(continueTrace(cause, observation)),
    counted: (action, accepted) => inputs.add(1, { action, accepted: String(accepted) }),
    monotonic,
    after,
    now,
  });
  const overlays = new SharedOverlays({
    database,
    adopt: (all) => reflex.adopt(all),
    revision: () => store.revision,
    failed: databaseFailed,
  });
  const nociception = new Nociception({
    conversation,
    gate,
    publish,
    raise: (alert) => host.emit('alert', alert),
    fanOut: () => void conversation.fanOut('[tick]'),
    fanOutOn: host.config.fanOut,
    counted: (source, severity) => pain.add(1, { source: sourceLabel(source), severity }),
    overloaded: () => overloads.add(),
    monotonic,
    after,
  });
  const writeTrail = (entry: ControlEntry): void => {
    trail.current
      ?.write({
        action: entry.accepted ? 'allow' : 'reject',
        operation: `gate:${entry.action}`,
        reason: `gate:${entry.accepted ? 'changed' : 'refused'}`,
        principal: entry.actor,
        correlationId: entry.correlationId,
        evidence: { override_key: entry.overrideKey, obs_id: entry.obsId },
      })
      .catch((error: unknown) => {
        host.log.warn(
          { error: error instanceof Error ? error.name : 'error' },
          'a change of the gate was not written to the audit trail',
        );
      });
  };
  if (shared) {
    await overlays.start();
    host.every(lookEveryMs, () => overlays.look());
  }
  return {
    conversation,
    gate,
    reflex,
    nociception,
    room: () => store.room(1),
    audit: (entry) => {
      const full: ControlEntry = { ...emptyEntry, at: now(), ...entry };
      inputs.add(1, { action: full.action, accepted: String(full.accepted) });
      store.add({ entries: [full] });
      writeTrail(full);
    },
    handlePain: (observation) => {
      if (observation.obs_type === 'alert') nociception.alert(observation);
      else if (observation.payload.schedule_id === 'tick') nociception.tick();
    },
    guarded: (run) => {
      try {
        run();
      } catch (error) {
        host.log.error({ error: error instanceof Error ? error.name : 'error' }, 'the reflex has failed');
        host.emit('alert', alertOf('system_reflex_error', 'high', 'A change of the gate failed.'));
      }
    },
    async close() {
      reflex.close();
      nociception.close();
      await store.close();
      await overlays.close();
    },
  };
}

const emptyEntry = {
  actor: null,
  originSessionKey: null,
  overrideKey: null,
  oldValue: undefined,
  newValue: undefined,
  reason: null,
  ttlSec: null,
  expiresAt: null,
  obsId: null,
  traceId: null,
  correlationId: null,
};

/** Kinds of sources used as metric labels; any other kind is counted as `other`. */
const sourceKinds = ['adapter', 'egress', 'system', 'gate', 'plugin', 'settings', 'ingest'];

function sourceLabel(kind: string): string {
  return sourceKinds.includes(kind) ? kind : 'other';
}

/** The longest delay of `setTimeout`, milliseconds. */
const maxTimerMs = 2_147_483_647;

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, Math.min(ms, maxTimerMs));
  timer.unref();
  return () => clearTimeout(timer);
}
