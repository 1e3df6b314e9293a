import type { AuditEntry } from './audit-entry.js';
import type { PluginStateName } from './plugin-state.js';

/** An alert: always logged and counted; an active `conversation` plugin turns each into an observation. */
export interface Alert {
  /** `<kind>:<id>`, e.g. `plugin:tool-shell`, `settings:gate`. */
  readonly source: string;
  readonly severity: 'low' | 'medium' | 'high' | 'critical';
  readonly code: string;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A request that the host refused before any plugin saw it. */
export interface Refusal {
  readonly reason: 'auth_failed' | 'host_refused' | 'origin_refused' | 'rate_limited' | 'admin_required' | 'forbidden';
  /** Principal id, or the class of the address (`loopback`, `private`, `public`). */
  readonly subject: string;
  /** Route pattern or tool name, never the raw path. */
  readonly target: string;
  readonly correlationId: string;
}

/** A change of plugins or settings made outside of requests: an edited file, or a command without a server. */
export interface PlatformChange {
  readonly operation: 'enable' | 'disable' | 'configure' | 'edit_file';
  /** Key of a plugin, or the relative path of a file: `config/gate.json`. */
  readonly target: string;
  readonly source: 'file' | 'cli';
  /** Code of the error that prevented the change; absent when it was made. */
  readonly refusal?: string;
  /** JSON facts for the record. */
  readonly details: Readonly<Record<string, unknown>>;
}

interface PluginStateChange {
  readonly key: string;
  readonly from: PluginStateName;
  readonly to: PluginStateName;
  readonly code: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Events of the host and of plugins; plugins widen it by declaration merging. */
export interface HostEvents {
  alert: Alert;
  refusal: Refusal;
  'plugin-state': PluginStateChange;
  /** Awaited: the platform counts an edit as seen when at least one listener has recorded it and none has failed. */
  'platform-changed': { readonly changes: readonly PlatformChange[] };
  /** An audit row was committed. */
  audit: AuditEntry & { readonly auditId: string };
  /** The process begins to shut down; requests may go on until `deadline`, epoch milliseconds. */
  shutdown: { readonly deadline: number };
}
