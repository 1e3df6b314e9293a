import type { AdapterCooldown } from 'mortise/contracts/conversation';
import type { ObservationInput } from 'mortise/sdk';

/** Adapters, in and out, that are left alone for a while. */
export class Cooldowns {
  readonly #byAdapter = new Map<string, AdapterCooldown>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  start(cooldown: AdapterCooldown): void {
    this.#byAdapter.set(cooldown.adapter, Object.freeze({ ...cooldown }));
  }

  end(adapter: string): boolean {
    return this.#byAdapter.delete(adapter);
  }

  /** Milliseconds until the adapter may be used again; 0 when it may be now. */
  left(adapter: string): number {
    const cooldown = this.#byAdapter.get(adapter);
    if (!cooldown) return 0;
    const left = cooldown.until - this.#monotonic();
    if (left > 0) return left;
    this.#byAdapter.delete(adapter);
    return 0;
  }

  list(): readonly AdapterCooldown[] {
    return [...this.#byAdapter.values()].filter(({ adapter }) => this.left(adapter) > 0);
  }

  /** What the platform says about an adapter is not refused because of that adapter. */
  refuses(input: ObservationInput, adapter: string | undefined): boolean {
    if (this.#byAdapter.size === 0) return false;
    const type = input.obs_type ?? 'message';
    if (input.source_kind === 'internal' && type !== 'message' && type !== 'world_data') return false;
    return this.left(adapter ?? input.source_name) > 0;
  }
}
