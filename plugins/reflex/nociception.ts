import { LRUCache } from 'lru-cache';
import type { ConversationService } from 'mortise/contracts/conversation';
import type { GateControl } from 'mortise/contracts/gate';
import type { Alert, Observation, ObservationInput } from 'mortise/sdk';
import type { ExpiryDeps } from './expiries.js';

interface NociceptionDeps {
  readonly conversation: Pick<ConversationService, 'coolDown' | 'endCooldown' | 'stats'>;
  readonly gate: Pick<GateControl, 'snapshot' | 'totals'>;
  readonly publish: (observation: ObservationInput) => void;
  readonly raise: (alert: Alert) => void;
  readonly fanOut: () => void;
  /** Whether ticks are broadcast to all sessions. */
  readonly fanOutOn: boolean;
  /** Counts a pain alert. */
  readonly counted: (kind: string, severity: string) => void;
  /** Counts a tick with too many drops. */
  readonly overloaded: () => void;
  readonly monotonic: ExpiryDeps['monotonic'];
  readonly after: ExpiryDeps['after'];
}

interface PainTotals {
  readonly by_source: Readonly<Record<string, number>>;
  readonly by_severity: Readonly<Record<string, number>>;
  readonly by_session: Readonly<Record<string, number>>;
}

/** Sources, sessions or windows; the least recent are evicted. */
function remembered<Value extends object | number>(): LRUCache<string, Value> {
  return new LRUCache({ max: 1_000 });
}

/** Kinds of sources that can cool down. */
const adapterKinds = ['adapter', 'egress'];

/** Counts pain alerts, cools down adapters that fail repeatedly, and raises an alert about a flood of drops. */
export class Nociception {
  readonly #deps: NociceptionDeps;
  readonly #recent = remembered<number[]>();
  readonly #bySource = remembered<number>();
  readonly #bySeverity = remembered<number>();
  readonly #bySession = remembered<number>();
  readonly #cooling = new Map<string, () => void>();
  #dropsBefore: number | undefined;
  #suppressedUntil = Number.NEGATIVE_INFINITY;
  #alertedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: NociceptionDeps) {
    this.#deps = deps;
  }

  totals(): PainTotals {
    return {
      by_source: Object.fromEntries(this.#bySource.entries()),
      by_severity: Object.fromEntries(this.#bySeverity.entries()),
      by_session: Object.fromEntries(this.#bySession.entries()),
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
    this.#deps.counted(sourceKind, level);
    if (adapterKinds.includes(sourceKind)) this.#recordFailure(source, sourceId);
  }

  tick(): void {
    const { nociception: config, drop_escalation: escalation } = this.#deps.gate.snapshot().config;
    const now = this.#deps.monotonic();
    const stats = this.#deps.conversation.stats();
    const refused = Object.values(stats.dropped).reduce((sum, number) => sum + number, 0) + stats.inbox_dropped;
    const drops = this.#deps.gate.totals().dropped + refused;
    // A restarted gate counts from 0.
    const since = this.#dropsBefore === undefined ? 0 : Math.max(drops - this.#dropsBefore, 0);
    this.#dropsBefore = drops;
    if (since >= config.drop_burst) {
      this.#deps.overloaded();
      this.#suppressedUntil = now + config.fanout_suppress_sec * 1_000;
      if (now - this.#alertedAt >= escalation.cooldown_sec * 1_000) {
        this.#alertedAt = now;
        this.#deps.raise(dropOverload(since, config.drop_burst));
      }
    }
    if (this.#deps.fanOutOn && now >= this.#suppressedUntil) this.#deps.fanOut();
  }

  /** Ends a cooldown early. @returns whether there was one */
  endCooldown(adapter: string): boolean {
    const cancel = this.#cooling.get(adapter);
    const cleared = this.#deps.conversation.endCooldown(adapter);
    if (!cancel) return cleared;
    cancel();
    this.#ended(adapter);
    return true;
  }

  close(): void {
    for (const cancel of this.#cooling.values()) cancel();
    this.#cooling.clear();
  }

  #recordFailure(source: string, adapter: string): void {
    if (this.#cooling.has(adapter)) return;
    const { nociception: config } = this.#deps.gate.snapshot().config;
    const now = this.#deps.monotonic();
    const from = now - config.window_sec * 1_000;
    const recent = [...(this.#recent.get(source) ?? []).filter((at) => at > from), now];
    if (recent.length < config.burst) {
      this.#recent.set(source, recent);
      return;
    }
    this.#recent.delete(source);
    const ms = config.adapter_cooldown_sec * 1_000;
    const reason = `${recent.length} pain alerts`;
    this.#deps.conversation.coolDown({ adapter, until: now + ms, reason });
    this.#cooling.set(
      adapter,
      this.#deps.after(ms, () => {
        this.#deps.conversation.endCooldown(adapter);
        this.#ended(adapter);
      }),
    );
    this.#deps.publish(announcement('adapter_cooldown_started', { adapter, source, reason, cooldown_sec: ms / 1_000 }));
  }

  /** Clears the window of failures, so that counting starts again. */
  #ended(adapter: string): void {
    this.#cooling.delete(adapter);
    for (const kind of adapterKinds) this.#recent.delete(`${kind}:${adapter}`);
    this.#deps.publish(announcement('adapter_cooldown_ended', { adapter }));
  }
}

/** `<kind>:<id>`, from the alert's data, else from the source's name. */
function sourceOf(kind: unknown, id: unknown, name: string): string {
  if (typeof kind === 'string' && kind !== '' && typeof id === 'string' && id !== '') return `${kind}:${id}`;
  return name.indexOf(':') > 0 ? name : 'unknown:unknown';
}

function dropOverload(drops: number, limit: number): Alert {
  return {
    source: 'system:drop_overload',
    severity: 'high',
    code: 'pain',
    message: 'Too many observations were dropped since the last tick.',
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

function count(counts: LRUCache<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
