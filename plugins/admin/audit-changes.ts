import { randomUUID } from 'node:crypto';
import type { AuditService } from 'mortise/contracts/logbook';
import {
  type AuditEntry,
  type HostEvents,
  type InstancesService,
  type Logger,
  MortiseError,
  type PlatformChange,
  type PluginControl,
  type Principal,
  type StartHost,
  type Watched,
} from 'mortise/sdk';

interface AdminChange {
  readonly action: string;
  readonly key: string;
  readonly principal: Principal;
  readonly correlationId: string;
}

/** Writes a pending audit row, runs the change, and settles the row with the outcome. */
export type ChangeAudit = <T>(change: AdminChange, run: () => Promise<T>) => Promise<T>;

interface Deps {
  readonly audit: Watched<AuditService>;
  readonly log: Logger;
  readonly plugins: Pick<PluginControl, 'databaseHolder' | 'hurry'>;
  readonly every: StartHost['every'];
  readonly instances: Pick<InstancesService, 'isAlive'>;
}

type Outcome = Parameters<AuditService['finalize']>[1];

interface Unsettled {
  readonly auditId: string;
  readonly outcome: Outcome;
}

/** Interval in milliseconds at which outcomes that could not be written are retried. */
const retryEveryMs = 2_000;

/** Interval in milliseconds at which changes of processes that crashed are looked for. */
const lookEveryMs = 60_000;
const pageLength = 100;

/** Actions that end the current run of the plugin, and its open transactions. */
const endsRun: ReadonlySet<string> = new Set(['disable', 'restart']);

/** Maximum outcomes remembered until the trail is back; beyond it the oldest rows stay pending. */
const maxUnsettled = 200;

/**
 * Audits every change and every refusal in one row, written as pending before the change. A change that cannot be
 * audited is refused, except for one that restores the audit trail.
 */
export function auditChanges({ audit, log, plugins, every, instances }: Deps): ChangeAudit {
  let unsettled: readonly Unsettled[] = [];

  const look = async (): Promise<void> => {
    try {
      if (audit.current) await settleAbandoned(audit.current, instances);
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'unfinished admin changes could not be audited');
    }
  };
  every(lookEveryMs, look);
  void look();

  // The change itself may have stopped the plugin that provides the trail.
  audit.onChange((trail) => {
    if (trail) void settleAll(trail).then(look);
  });

  every(retryEveryMs, async () => {
    if (audit.current && unsettled.length > 0) await settleAll(audit.current);
  });

  return async (change, run) => {
    const auditId = await begin(change);
    try {
      const result = await run();
      await end(change, auditId, { status: 'success', action: 'allow', reason: 'admin:done' });
      return result;
    } catch (error) {
      const reason = `admin:${error instanceof MortiseError ? error.code : 'internal_error'}`;
      await end(change, auditId, { status: 'failed', action: 'reject', reason });
      throw error;
    }
  };

  /** @returns undefined when the change proceeds without a row */
  async function begin(change: AdminChange): Promise<string | undefined> {
    const trail = audit.current;
    // Otherwise the row would wait for the transaction that the change is meant to end.
    if (endsRun.has(change.action)) plugins.hurry(change.key);
    if (trail) {
      await settleAll(trail);
      try {
        return await trail.write({ ...entryOf(change), action: 'allow', reason: 'admin:asked', status: 'pending' });
      } catch (error) {
        log.warn({ action: change.action, error: messageOf(error) }, 'an admin change could not be audited');
      }
    }
    if (restoresAudit(change)) return undefined;
    const holder = plugins.databaseHolder();
    throw new MortiseError('audit_unavailable', 'The audit trail is not available, so nothing may be changed.', {
      status: 503,
      hint: hintOf(trail !== undefined, holder),
    });
  }

  /** Never throws, because the change has already been made. */
  async function end(change: AdminChange, auditId: string | undefined, outcome: Outcome): Promise<void> {
    const trail = audit.current;
    try {
      if (auditId !== undefined) {
        unsettled = [...unsettled, { auditId, outcome }].slice(-maxUnsettled);
        if (trail && !(await settleAll(trail)))
          log.warn({ auditId }, 'the outcome of an admin change will be audited later');
      } else if (trail) {
        await trail.write({ ...entryOf(change), ...outcome });
      } else {
        log.warn({ ...entryOf(change), ...outcome }, 'an admin change could not be written to the audit trail');
      }
    } catch (error) {
      log.warn(
        { ...entryOf(change), ...outcome, error: messageOf(error) },
        'the outcome of an admin change was not audited',
      );
    }
  }

  /** @returns false when some rows remain unsettled */
  async function settleAll(trail: AuditService): Promise<boolean> {
    const now = unsettled;
    unsettled = [];
    for (const [index, { auditId, outcome }] of now.entries()) {
      try {
        await trail.finalize(auditId, outcome);
      } catch (error) {
        unsettled = [...now.slice(index), ...unsettled].slice(-maxUnsettled);
        log.debug({ auditId, error: messageOf(error) }, 'the outcome of an admin change could not be audited');
        return false;
      }
    }
    return true;
  }
}

/** Settles the changes of processes that ended before they had recorded the outcome, which is unknown. */
async function settleAbandoned(trail: AuditService, instances: Deps['instances']): Promise<void> {
  let after: string | undefined;
  do {
    const rows = await trail.pending({ olderThanSeconds: 0, limit: pageLength, after });
    for (const { auditId, operation, action, instanceId } of rows) {
      if (!operation.startsWith('admin:') || (await instances.isAlive(instanceId))) continue;
      await trail.finalize(auditId, { status: 'failed', action, reason: 'admin:outcome_unknown' });
    }
    after = rows.length < pageLength ? undefined : rows.at(-1)?.auditId;
  } while (after !== undefined);
}

function hintOf(hasTrail: boolean, holder: string | null): string {
  if (!hasTrail) return 'Run mortise plugin inspect logbook for the reason.';
  return holder === null
    ? 'The audit row could not be written. Run mortise plugin doctor to check whether the database is full.'
    : `The plugin ${holder} holds an open transaction. Run mortise plugin disable ${holder} to end it.`;
}

function entryOf(change: AdminChange) {
  // The key of an unknown plugin may have any length.
  const key = change.key.slice(0, 64);
  return {
    operation: `admin:${change.action}`,
    principal: change.principal.id,
    actorUserId: change.principal.actor ?? null,
    targetSpace: `plugin:${key}`,
    correlationId: change.correlationId,
    evidence: { plugin: key },
  } as const;
}

function restoresAudit(change: AdminChange): boolean {
  return change.key === 'logbook' && change.action !== 'disable';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Writes one audit row for each change made outside of requests.
 * @throws MortiseError `audit_unavailable` (503), or the trail's error; the platform then reports the changes again later
 */
export async function auditPlatformChanges(
  { changes }: HostEvents['platform-changed'],
  audit: Watched<AuditService>,
): Promise<void> {
  if (!audit.current) throw new MortiseError('audit_unavailable', 'The audit trail is not available.', { status: 503 });
  await audit.current.writeMany(changes.map(platformEntryOf));
}

function platformEntryOf({ operation, target, source, refusal, details }: PlatformChange): AuditEntry {
  const done = source === 'file' ? 'admin:file_edited' : 'admin:done';
  return {
    operation: `admin:${operation}`,
    principal: source,
    targetSpace: operation === 'edit_file' ? `file:${target}` : `plugin:${target}`,
    ...(source === 'cli' ? { correlationId: randomUUID() } : {}),
    action: refusal === undefined ? 'allow' : 'reject',
    reason: refusal === undefined ? done : `admin:${refusal}`,
    status: refusal === undefined ? 'success' : 'failed',
    evidence: details,
  };
}
