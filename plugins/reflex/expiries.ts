import type { GateLayer, GateOverrideKey } from 'mortise/contracts/gate';
import type { Cause } from './cause.js';
import { overlayName } from './overlay-store.js';

/** An override with an expiry, and its cause. */
export interface Expiry {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  /** Monotonic milliseconds. */
  readonly at: number;
  /** Null when another process set it. */
  readonly ttlSec: number | null;
  readonly cause: Cause;
}

export interface ExpiryDeps {
  readonly monotonic: () => number;
  /** Calls `run` once after `ms`. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly expired: (expiry: Expiry) => void;
}

/** Expires overrides with one timer for the earliest expiry, independent of traffic. */
export class Expiries {
  readonly #deps: ExpiryDeps;
  readonly #entries = new Map<string, Expiry>();
  #cancel: (() => void) | undefined;

  constructor(deps: ExpiryDeps) {
    this.#deps = deps;
  }

  set(expiry: Expiry): void {
    this.#entries.set(overlayName(expiry), expiry);
    this.#arm();
  }

  drop(layer: GateLayer, key: GateOverrideKey): void {
    if (this.#entries.delete(overlayName({ layer, key }))) this.#arm();
  }

  close(): void {
    this.#cancel?.();
    this.#entries.clear();
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const next = [...this.#entries.values()].reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
    if (next === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#deps.after(Math.max(next - this.#deps.monotonic(), 0), () => this.#fire());
  }

  #fire(): void {
    const now = this.#deps.monotonic();
    for (const [name, expiry] of this.#entries) {
      if (expiry.at > now) continue;
      this.#entries.delete(name);
      this.#deps.expired(expiry);
    }
    this.#arm();
  }
}
