import type { ConversationService } from 'mortise/contracts/conversation';
import type { GateControl } from 'mortise/contracts/gate';
import type { Alert, Observation, ObservationInput } from 'mortise/sdk';
import type { ExpiryPorts } from './expiries.js';

export interface NociceptionPorts {
  readonly conversation: Pick<ConversationService, 'coolDown' | 'endCooldown' | 'stats'>;
  readonly gate: Pick<GateControl, 'snapshot' | 'totals'>;
  readonly publish: (observation: ObservationInput) => void;
  readonly raise: (alert: Alert) => void;
  readonly fanOut: () => void;
  /** Whether ticks go to all sessions at all. */
  readonly fanOutOn: boolean;
  readonly felt: (kind: string, severity: string) => void;
  readonly overloaded: () => void;
  readonly monotonic: ExpiryPorts['monotonic'];
  readonly after: ExpiryPorts['after'];
}

export interface PainTotals {
  readonly by_source: Readonly<Record<string, number>>;
  readonly by_severity: Readonly<Record<string, number>>;
  readonly by_session: Readonly<Record<string, number>>;
}

const remembered = 1_000;
/** Kinds of sources that can be left alone for a while. */
const stoppable = ['adapter', 'egress'];

/** Feels what hurts: an adapter that fails again and again is left alone, and a flood of drops is told of. */
export class Nociception {
  readonly #ports: NociceptionPorts;
  readonly #recent = new Map<string, number[]>();
  readonly #bySource = new Map<string, number>();
  readonly #bySeverity = new Map<string, number>();
  readonly #bySession = new Map<string, number>();
  readonly #cooling = new Map<string, () => void>();
  #dropsBefore: number | undefined;
  #suppressedUntil = Number.NEGATIVE_INFINITY;
  #alertedAt = Number.NEGATIVE_INFINITY;

  constructor(ports: NociceptionPorts) {
    this.#ports = ports;
  }

  totals(): PainTotals {
    return {
      by_source: Object.fromEntries(this.#bySource),
      by_severity: Object.fromEntries(this.#bySeverity),
      by_session: Object.fromEntries(this.#bySession),
    };
  }

  alert(observation: Observation): void {
    const { alert_type: type, severity, data } = observation.payload;
    const { source_kind: kind, source_id: id } = (data ?? {}) as { source_kind?: unknown; source_id?: unknown };
    if (type !== 'pain' && typeof kind !== 'string') return;
    const source = sourceOf(kind, id, observation.source_name);
    const level = typeof severity === 'string' ? severity : 'medium';
    count(this.#bySource, source);
    count(this.#bySeverity, level);
    const session = observation.metadata.origin_session_key;
    if (typeof session === 'string' && session !== 'system') count(this.#bySession, session);
    const colon = source.indexOf(':');
    const [sourceKind, sourceId] = [source.slice(0, colon), source.slice(colon + 1)];
    this.#ports.felt(sourceKind, level);
    if (stoppable.includes(sourceKind)) this.#hurts(source, sourceId);
  }

  tick(): void {
    const { nociception: config, drop_escalation: escalation } = this.#ports.gate.snapshot().config;
    const now = this.#ports.monotonic();
    const stats = this.#ports.conversation.stats();
    const refused = Object.values(stats.dropped).reduce((sum, number) => sum + number, 0) + stats.inbox_dropped;
    const drops = this.#ports.gate.totals().dropped + refused;
    // A gate that was started anew counts from nothing.
    const since = this.#dropsBefore === undefined ? 0 : Math.max(drops - this.#dropsBefore, 0);
    this.#dropsBefore = drops;
    if (since >= config.drop_burst) {
      this.#ports.overloaded();
      this.#suppressedUntil = now + config.fanout_suppress_sec * 1_000;
      if (now - this.#alertedAt >= escalation.cooldown_sec * 1_000) {
        this.#alertedAt = now;
        this.#ports.raise(dropOverload(since, config.drop_burst));
      }
    }
    if (this.#ports.fanOutOn && now >= this.#suppressedUntil) this.#ports.fanOut();
  }

  /** Ends a cooldown before its time. */
  end(adapter: string): boolean {
    const cancel = this.#cooling.get(adapter);
    const cleared = this.#ports.conversation.endCooldown(adapter);
    if (!cancel) return cleared;
    cancel();
    this.#ended(adapter);
    return true;
  }

  close(): void {
    for (const cancel of this.#cooling.values()) cancel();
    this.#cooling.clear();
  }

  #hurts(source: string, adapter: string): void {
    if (this.#cooling.has(adapter)) return;
    const { nociception: config } = this.#ports.gate.snapshot().config;
    const now = this.#ports.monotonic();
    const from = now - config.window_sec * 1_000;
    const recent = [...(this.#recent.get(source) ?? []).filter((at) => at > from), now];
    this.#recent.delete(source);
    if (recent.length < config.burst) {
      this.#recent.set(source, recent);
      bound(this.#recent);
      return;
    }
    const ms = config.adapter_cooldown_sec * 1_000;
    const reason = `${recent.length} pain alerts`;
    this.#ports.conversation.coolDown({ adapter, until: now + ms, reason });
    this.#cooling.set(
      adapter,
      this.#ports.after(ms, () => {
        this.#ports.conversation.endCooldown(adapter);
        this.#ended(adapter);
      }),
    );
    this.#ports.publish(
      announcement('adapter_cooldown_started', { adapter, source, reason, cooldown_sec: ms / 1_000 }),
    );
  }

  /** The next failure counts from one again. */
  #ended(adapter: string): void {
    this.#cooling.delete(adapter);
    for (const kind of stoppable) this.#recent.delete(`${kind}:${adapter}`);
    this.#ports.publish(announcement('adapter_cooldown_ended', { adapter }));
  }
}

/** `<kind>:<id>`; a name without a kind is of an unknown one. */
function sourceOf(kind: unknown, id: unknown, name: string): string {
  if (typeof kind === 'string' && kind !== '' && typeof id === 'string' && id !== '') return `${kind}:${id}`;
  return name.indexOf(':') > 0 ? name : 'unknown:unknown';
}

function dropOverload(drops: number, limit: number): Alert {
  return {
    source: 'system:drop_overload',
    severity: 'high',
    code: 'pain',
    message: 'Very many observations were dropped since the last tick.',
    data: { source_kind: 'system', source_id: 'drop_overload', drops, limit },
  };
}

function announcement(text: string, extra: Readonly<Record<string, unknown>>): ObservationInput {
  return { ...internal, obs_type: 'system', source_name: 'system:nociception', payload: { text, extra } };
}

const internal = {
  source_kind: 'internal',
  ingress: 'internal',
  actor: { actor_type: 'system', actor_id: 'system' },
} as const;

function count(counts: Map<string, number>, name: string): void {
  const known = counts.get(name) ?? 0;
  counts.delete(name);
  counts.set(name, known + 1);
  bound(counts);
}

function bound(map: Map<string, unknown>): void {
  if (map.size <= remembered) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
