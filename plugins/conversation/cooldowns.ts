import type { AdapterCooldown } from 'mortise/contracts/conversation';
import type { ObservationInput } from 'mortise/sdk';

/** Input and egress adapters that are cooling down. */
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

  /** Whether an observation is refused. The platform's own observations about an adapter never are. */
  refuses(input: ObservationInput, adapter: string | undefined): boolean {
    if (this.#byAdapter.size === 0) return false;
    const type = input.obs_type ?? 'message';
    if (input.source_kind === 'internal' && type !== 'message' && type !== 'world_data') return false;
    return this.left(adapter ?? input.source_name) > 0;
  }
}
