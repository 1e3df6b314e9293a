import type { GateConfig } from 'mortise/contracts/gate';
import type { Alert } from 'mortise/sdk';
import type { Draft } from './draft.js';

type Escalation = GateConfig['drop_escalation'];

/** Drops are counted per second, so that memory is bounded during a flood. */
interface Second {
  readonly second: number;
  readonly byReason: Map<string, number>;
  count: number;
}

const reasonLimit = 50;

/** Counts every DROP in a sliding window, and raises an alert about many of them at most once per cooldown. */
export class DropMonitor {
  #seconds: Second[] = [];
  #consecutive = 0;
  #alertedAt = Number.NEGATIVE_INFINITY;

  /** Counts a decision, and tags it when it starts a burst. @returns the alert of a burst */
  watch(draft: Draft): Alert | undefined {
    const { observation, action } = draft;
    if (action !== 'drop') {
      if (observation.obs_type === 'message' || observation.obs_type === 'world_data') this.#consecutive = 0;
      return undefined;
    }
    const escalation = draft.compiled.config.drop_escalation;
    this.#consecutive += 1;
    this.#count(draft.reason, draft.now, escalation.window_sec);
    const count = this.#seconds.reduce((sum, second) => sum + second.count, 0);
    if (count < escalation.burst_threshold && this.#consecutive < escalation.consecutive_threshold) return undefined;
    if (draft.now - this.#alertedAt < escalation.cooldown_sec * 1_000) return undefined;
    this.#alertedAt = draft.now;
    draft.tag('drop_burst', 'true');
    return this.#alert(count, escalation);
  }

  #count(reason: string, now: number, windowSeconds: number): void {
    const second = Math.floor(now / 1_000);
    let latest = this.#seconds.at(-1);
    if (latest?.second !== second) {
      latest = { second, byReason: new Map(), count: 0 };
      this.#seconds.push(latest);
      const from = second - windowSeconds;
      if ((this.#seconds[0]?.second ?? second) <= from) {
        this.#seconds = this.#seconds.filter((one) => one.second > from);
      }
    }
    latest.count += 1;
    const known = latest.byReason.has(reason) || latest.byReason.size < reasonLimit;
    const name = known ? reason : 'other';
    latest.byReason.set(name, (latest.byReason.get(name) ?? 0) + 1);
  }

  #alert(count: number, escalation: Escalation): Alert {
    const byReason: Record<string, number> = {};
    for (const second of this.#seconds) {
      for (const [reason, number] of second.byReason) byReason[reason] = (byReason[reason] ?? 0) + number;
    }
    const { window_sec, burst_threshold, consecutive_threshold, cooldown_sec } = escalation;
    return gateAlert('drop_burst', 'pain', 'Many observations are dropped.', {
      window_sec,
      count,
      burst_threshold,
      consecutive: this.#consecutive,
      consecutive_threshold,
      cooldown_sec,
      by_reason: byReason,
    });
  }
}

/** An alert of the gate about itself. @param id names the source of the pain */
export function gateAlert(id: string, code: string, message: string, data: Readonly<Record<string, unknown>>): Alert {
  const source = { source_kind: 'gate', source_id: id };
  return { source: `gate:${id}`, severity: 'medium', code, message, data: { ...source, ...data } };
}
