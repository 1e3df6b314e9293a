import type { AuditService } from 'mortise/contracts/logbook';
import {
  type Logger,
  MortiseError,
  type PluginControl,
  type Principal,
  type StartHost,
  type Watched,
} from 'mortise/sdk';
import { randomUUID } from 'node:crypto';
import type { AuditService } from 'mortise/contracts/logbook';
import { type AuditEntry, type HostEvents, MortiseError, type PlatformChange, type Watched } from 'mortise/sdk';

interface AdminChange {
  readonly action: string;
  readonly key: string;
  readonly principal: Principal;
  readonly correlationId: string;
}

/** Runs a change between the two halves of its audit row: that it was asked for, and how it ended. */
export type ChangeAudit = <T>(change: AdminChange, run: () => Promise<T>) => Promise<T>;

interface AuditPorts {
  readonly audit: Watched<AuditService>;
  readonly log: Logger;
  readonly plugins: Pick<PluginControl, 'databaseHolder' | 'hurry'>;
  readonly every: StartHost['every'];
}

type Outcome = Parameters<AuditService['finalize']>[1];

interface Unsettled {
  readonly auditId: string;
  readonly outcome: Outcome;
}

/** How often the end of a change that could not be written is tried again, milliseconds. */
const settleAgainMs = 2_000;

/** What is over with the run of the plugin, and with all that it holds. */
const endsRun: ReadonlySet<string> = new Set(['disable', 'restart']);

/** Rows whose end could not be written are kept for a trail that comes back; past this many the oldest stay pending. */
const unsettledKept = 200;

/**
 * Every change and every refusal is one audit row, written as pending before anything happens: what the trail cannot
 * take is not done. The exception are the plugins that bring the trail back.
 */
export function auditChanges({ audit, log, plugins, every }: AuditPorts): ChangeAudit {
  let unsettled: readonly Unsettled[] = [];

  // A change may itself have stopped the plugin that keeps the trail.
  audit.onChange((trail) => {
    if (trail) void settleAll(trail);
  });

  every(settleAgainMs, async () => {
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

  /** @returns undefined where the change goes on without a row */
  async function begin(change: AdminChange): Promise<string | undefined> {
    const trail = audit.current;
    // The row would wait for the very transaction that the change is to end.
    if (endsRun.has(change.action)) plugins.hurry(change.key);
    if (trail) {
      await settleAll(trail);
      try {
        return await trail.write({ ...entryOf(change), action: 'allow', reason: 'admin:asked', status: 'pending' });
      } catch (error) {
        log.warn({ action: change.action, error: wordOf(error) }, 'an admin change could not be audited');
      }
    }
    if (bringsAuditBack(change)) return undefined;
    const holder = plugins.databaseHolder();
    throw new MortiseError('audit_unavailable', 'The audit trail is not available, so nothing may be changed.', {
      status: 503,
      hint: hintOf(trail !== undefined, holder),
    });
  }

  /** The change is over: what goes wrong here must not say otherwise. */
  async function end(change: AdminChange, auditId: string | undefined, outcome: Outcome): Promise<void> {
    const trail = audit.current;
    try {
      if (auditId !== undefined) {
        unsettled = [...unsettled, { auditId, outcome }].slice(-unsettledKept);
        if (trail && !(await settleAll(trail))) log.warn({ auditId }, 'the end of an admin change is audited later');
      } else if (trail) {
        await trail.write({ ...entryOf(change), ...outcome });
      } else {
        log.warn({ ...entryOf(change), ...outcome }, 'an admin change could not be written to the audit trail');
      }
    } catch (error) {
      log.warn({ ...entryOf(change), ...outcome, error: wordOf(error) }, 'the end of an admin change was not audited');
    }
  }

  /** @returns false when some are left for later */
  async function settleAll(trail: AuditService): Promise<boolean> {
    const now = unsettled;
    unsettled = [];
    for (const [index, { auditId, outcome }] of now.entries()) {
      try {
        await trail.finalize(auditId, outcome);
      } catch (error) {
        unsettled = [...now.slice(index), ...unsettled].slice(-unsettledKept);
        log.debug({ auditId, error: wordOf(error) }, 'the end of an admin change could not be audited');
        return false;
      }
    }
    return true;
  }
}

function hintOf(hasTrail: boolean, holder: string | null): string {
  if (!hasTrail) return 'mortise plugin inspect logbook tells why.';
  return holder === null
    ? 'Its row could not be written; mortise plugin doctor tells whether the database is full.'
    : `The plugin ${holder} holds a transaction that it does not end; mortise plugin disable ${holder} ends it.`;
}

function entryOf(change: AdminChange) {
  // A key that no plugin has may be of any length.
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

function bringsAuditBack(change: AdminChange): boolean {
  return change.key === 'logbook' && change.action !== 'disable';
}

function wordOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Writes one audit row for each change that no request asked for.
 * @throws MortiseError `audit_unavailable` (503), or what the trail threw: the platform reports the changes again later
 */
export async function auditPlatformChanges(
  { changes }: HostEvents['platform-changed'],
  audit: Watched<AuditService>,
): Promise<void> {
  if (!audit.current) throw new MortiseError('audit_unavailable', 'The audit trail is not available.', { status: 503 });
  await audit.current.writeMany(changes.map(entryOf));
}

function entryOf({ operation, target, source, refusal, details }: PlatformChange): AuditEntry {
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
