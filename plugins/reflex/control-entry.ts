import type { InsertTarget, SqlValue } from 'mortise/sdk';

export type ControlAction = 'suggest' | 'admin_set' | 'admin_clear' | 'expire' | 'release' | 'cooldown_clear';

/** One row of `gate.control_audit`. */
export interface ControlEntry {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly action: ControlAction;
  readonly actor: string | null;
  readonly originSessionKey: string | null;
  readonly overrideKey: string | null;
  readonly oldValue: unknown;
  readonly newValue: unknown;
  readonly accepted: boolean;
  readonly reason: string | null;
  readonly ttlSec: number | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
  readonly obsId: string | null;
  readonly traceId: string | null;
  readonly correlationId: string | null;
}

export const controlTable: InsertTarget = {
  table: 'gate.control_audit',
  columns: [
    'at',
    'action',
    'actor',
    'origin_session_key',
    'override_key',
    'old_value',
    'new_value',
    'accepted',
    'reason',
    'ttl_sec',
    'expires_at',
    'obs_id',
    'trace_id',
    'correlation_id',
  ],
};

/** Values in the column order of {@link controlTable}. */
export function controlRow(entry: ControlEntry): readonly SqlValue[] {
  return [
    entry.at,
    entry.action,
    entry.actor,
    entry.originSessionKey,
    entry.overrideKey,
    json(entry.oldValue),
    json(entry.newValue),
    entry.accepted,
    entry.reason,
    entry.ttlSec,
    entry.expiresAt,
    entry.obsId,
    entry.traceId,
    entry.correlationId,
  ];
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
