/** One row of the audit trail: who asked for what, what was decided and why. */
export interface AuditEntry {
  /** `allow`: done as requested; `redirect`: done or stored elsewhere; `reject`: refused. */
  readonly action: 'allow' | 'redirect' | 'reject';
  /** `<plugin>:<what>`, e.g. `admin:disable`. The memory pipeline uses its own names. */
  readonly operation: string;
  /** Stable code. Plugins use `<plugin>:<code>`. */
  readonly reason: string;
  readonly actorUserId?: string | null;
  readonly principal?: string | null;
  /** The affected space or object; null when there is none. */
  readonly targetSpace?: string | null;
  readonly payloadSha?: string | null;
  readonly correlationId?: string | null;
  readonly memoryKey?: string | null;
  /**
   * JSON facts. Never message text or secrets. With a `source` the trail adds `gateway_event`, the same summary for
   * every row; members that the writer sets there take precedence.
   */
  readonly evidence?: Readonly<Record<string, unknown>>;
  /** `pending` rows are settled later by the audit service. */
  readonly status?: 'pending' | 'success' | 'redirected' | 'failed';
}
